"""The words of the made-up shop: people's names, countries, products.

What belongs here: vocabulary and the tables made of it. What does not: who has which name, and who
buys what.
"""

from __future__ import annotations

import unicodedata

from customer_pipeline.demo.chance import weighted

FIRST_NAMES = [
    "Abigail", "Adeel", "Agnes", "Alasdair", "Amara", "Anneliese", "Anya", "Arthur", "Bronwen",
    "Bruno", "Callum", "Carys", "Chiara", "Clémence", "Cormac", "Dafydd", "Delphine", "Desmond",
    "Dilys", "Eilidh", "Elif", "Esther", "Ewan", "Farah", "Fergus", "Fiona", "François", "Freya",
    "Gareth", "Gwen", "Hamish", "Hannah", "Imogen", "Ingrid", "Ishaan", "Isla", "Jürgen", "Joanna",
    "José", "Keira", "Kwame", "Lachlan", "Leila", "Lorcan", "Maeve", "Marek", "Matilda", "Morag",
    "Nadia", "Nia", "Noor", "Olwen", "Oscar", "Padraig", "Priya", "Rhiannon", "Rosalind", "Rupert",
    "Saskia", "Seán", "Sinead", "Tamsin", "Tariq", "Theo", "Ursula", "Wilfred", "Yusuf", "Zoë",
]  # fmt: skip

SURNAMES = [
    "Abernethy", "Ackroyd", "Adeyemi", "Ainsworth", "Appleyard", "Ashdown", "Barraclough", "Begum",
    "Bellweather", "Birtwistle", "Blackwood", "Bramley", "Calloway", "Chaudhry", "Chivers",
    "Cockburn", "Copperfield", "D'Arcy", "Dankworth", "Davenport", "Dhillon", "Drummond", "Eccles",
    "Fairweather", "Farquhar", "Featherstone", "Fernández", "Fitzgerald", "Garside", "Gill",
    "Greenhalgh", "Grimshaw", "Hathersage", "Haldane", "Heseltine", "Hollingworth", "Iqbal",
    "Jagger", "Jónsdóttir", "Kendrick", "Kilbride", "Kowalczyk", "Lamb", "Langstaff", "Lefèvre",
    "Lockwood", "MacAllister", "Maddox", "Marlowe", "Mbeki", "Meyer", "Moorcroft", "Müller",
    "Nakamura", "Null", "Nuttall", "O'Connell", "O'Shea", "Okafor", "Oldroyd", "Ormerod", "Patel",
    "Pemberton", "Penhaligon", "Quayle", "Rafferty", "Ramsbottom", "Rossi", "Sedgwick",
    "Shackleton", "Silva", "Smith-Lowe", "Sowerby", "Tattersall", "Thistlewood", "Trelawney",
    "Underhill", "Van Dijk", "Wainwright", "Wetherby", "Winterbourne", "Yeadon",
]  # fmt: skip

MAIL_PROVIDERS = [
    "fenpost.example",
    "harbourmail.example",
    "inkwell.example",
    "larkmail.example",
    "northbox.example",
    "quillpost.example",
    "tidemail.example",
]

HOME = 0
COUNTRIES = [
    "United Kingdom", "Germany", "France", "Ireland", "Netherlands", "Spain", "Belgium",
    "Switzerland", "Portugal", "Australia", "Norway", "Italy", "Cyprus", "Sweden", "Denmark",
    "Finland", "Poland", "Austria", "Japan", "Namibia",
]  # fmt: skip
# How many customers in a thousand live where.
COUNTRY_TABLE = weighted(
    dict(enumerate([929, 15, 13, 9, 5, 4, 4, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]))
)

_COLOURS = [
    "Amber", "Ash Grey", "Brick Red", "Buttercup", "Charcoal", "Chalk White", "Cobalt", "Copper",
    "Cornflower", "Damson", "Duck Egg", "Fern Green", "Honey", "Indigo", "Mint", "Mustard",
    "Oatmeal", "Peach", "Plum", "Teal",
]  # fmt: skip
_MATERIALS = [
    "Bamboo", "Beeswax", "Brass", "Canvas", "Cast Iron", "Ceramic", "Corduroy", "Cork", "Cotton",
    "Enamel", "Felt", "Glass", "Jute", "Knitted", "Linen", "Oak", "Paper", "Quilted", "Rattan",
    "Recycled", "Slate", "Stoneware", "Tin", "Wool",
]  # fmt: skip
_THINGS = [
    "Apron", "Baker's Scale", "Basket, Large", "Basket, Small", "Bird Feeder", "Bookend",
    "Bunting 3m", "Butter Dish", "Candle Holder", "Card Holder", "Coaster, Set of 4", "Cushion",
    "Doorstop", "Egg Cup", "Fruit Bowl", "Gardener's Twine", "Garland", "Hanging Star",
    "Jam Jar Cover", "Jewellery Box", "Jug", "Key Hook", "Lantern", "Lunch Tin",
    "Magnet, Pack of 6", "Memo Board", "Mug", "Napkin, Pack of 20", "Notebook A6", "Oven Glove",
    "Pencil Case", "Photo Frame 4x6", "Plant Pot", "Recipe Folder", "Shopping Bag", "Spoon Rest",
    "Storage Crate", "Tea Towel", "Trinket Tray", "Wall Clock",
]  # fmt: skip

# The best-sellers come first; a basket that asks for more different things goes on into the rest.
BEST_SELLERS = 2_500
PRODUCTS = 3_200
CARRIAGE, HAND_KEYED = PRODUCTS, PRODUCTS + 1


def _product(number: int) -> tuple[str, str]:
    """Stock code and description: every product another combination of words."""
    combination = (number * 7_919 + 4_242) % (len(_COLOURS) * len(_MATERIALS) * len(_THINGS))
    rest, thing = divmod(combination, len(_THINGS))
    material, colour = divmod(rest, len(_COLOURS))
    code = f"{combination * 5 + 137:05d}" + ("", "", "A", "", "B", "")[number % 6]
    return code, f"{_COLOURS[colour]} {_MATERIALS[material]} {_THINGS[thing]}"


_CATALOGUE = [_product(number) for number in range(PRODUCTS)]
_CATALOGUE += [("CARR", "Carriage"), ("HAND", "Hand-keyed item")]
STOCK_CODES = [code for code, _ in _CATALOGUE]
_TEXTS = [text for _, text in _CATALOGUE]
# A description as it should be, and three ways in which it is keyed in a hurry.
DESCRIPTIONS = [
    *_TEXTS,
    *(f"{text} " for text in _TEXTS),
    *(f" {text}" for text in _TEXTS),
    *(f"{text.replace(' ', '  ', 1)}  " for text in _TEXTS),
]
DESCRIPTION_SPELLINGS = 4


def mail_part(name: str) -> str:
    """A name as it stands in a mail address: `Zoë` is `zoe`, `O'Shea` is `oshea`."""
    plain = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in plain if letter.isascii() and letter.isalpha()).lower()
