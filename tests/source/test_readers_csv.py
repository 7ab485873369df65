"""CSV files: which lines are rows, which are rejected, and when the file as a whole is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.drift import ColumnsError, Drift
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.csv_file import read_csv

Read = Callable[..., Delivery]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads bytes as a CSV file of the columns given (default: id, name)."""

    def read(content: bytes, *, columns: dict[str, Any] | None = None, **fields: Any) -> Delivery:
        path = tmp_path / "customers.csv"
        path.write_bytes(content)
        declared = {
            "reader": "csv",
            "path": str(path),
            "columns": columns or {"id": {}, "name": {}},
        }
        return read_csv(path, Feed.model_validate(declared | fields))

    return read


def rows_of(delivery: Delivery) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in delivery.rows.to_pylist()]


def rejected_of(delivery: Delivery) -> list[tuple[int, str, str]]:
    return [(row.line, row.reason, row.raw) for row in delivery.rejected]


def test_rows_are_texts_with_the_line_on_which_they_begin(read: Read) -> None:
    delivery = read(b"id,name\n007, Bond \n2^64,1e5\n")
    assert rows_of(delivery) == [("007", " Bond ", 2), ("2^64", "1e5", 3)]
    assert delivery.rows.schema == pa.schema(
        [("id", pa.string()), ("name", pa.string()), ("_line", pa.int64())]
    )
    assert delivery.rejected == () and delivery.warnings == ()


@pytest.mark.parametrize("quoted", [False, True])
def test_only_the_empty_field_is_null(read: Read, quoted: bool) -> None:
    texts = ["NULL", "null", "None", "NA", "N/A", "nan", "NaN", "#N/A", " ", "-", ""]
    lines = [f'{n},"{text}"' if quoted else f"{n},{text}" for n, text in enumerate(texts)]
    delivery = read("\n".join(["id,name", *lines, ""]).encode())
    assert delivery.rows["name"].to_pylist() == [*texts[:-1], None]


def test_columns_are_matched_by_name_whatever_their_order(read: Read) -> None:
    assert rows_of(read(b"name,id\nAda,1\n")) == [("1", "Ada", 2)]


def test_a_column_may_be_delivered_under_another_name(read: Read) -> None:
    columns = {"id": {"from": "Customer No"}, "name": {}}
    delivery = read(b"Customer No,name\n1,Ada\n", columns=columns)
    assert delivery.rows.column_names == ["Customer No", "name", "_line"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|", "]", "^", " ", "¦"])
def test_the_delimiter_is_the_declared_one(read: Read, delimiter: str) -> None:
    content = 'id,name\n1,Ada\n"2","B,"\n'.replace(",", delimiter)
    delivery = read(content.encode(), delimiter=delimiter)
    assert rows_of(delivery) == [("1", "Ada", 2), ("2", f"B{delimiter}", 3)]


def test_line_ends_may_be_mixed_and_stay_out_of_the_values(read: Read) -> None:
    assert rows_of(read(b"id,name\n1,Ada\r\n2,Bob\n3,\r\n")) == [
        ("1", "Ada", 2),
        ("2", "Bob", 3),
        ("3", None, 4),
    ]


def test_quoted_values_keep_their_line_breaks_and_later_lines_their_numbers(read: Read) -> None:
    delivery = read(b'id,name\n1,"Ada\r\nLovelace"\n2,"say ""hi"""\n3\n')
    assert rows_of(delivery) == [("1", "Ada\r\nLovelace", 2), ("2", 'say "hi"', 4)]
    assert rejected_of(delivery) == [(5, "1 field instead of 2", "3")]


def test_a_quote_inside_an_unquoted_value_is_part_of_it(read: Read) -> None:
    assert rows_of(read(b"id,name\n1,5'11\" tall\n")) == [("1", "5'11\" tall", 2)]


def test_a_value_longer_than_the_csv_modules_own_limit_is_read(read: Read) -> None:
    long = "x" * 200_000
    assert read(f'id,name\n1,"a\n{long}"\n'.encode()).rows["name"].to_pylist() == [f"a\n{long}"]


def test_a_long_file_keeps_the_order_and_the_lines_of_its_records(read: Read) -> None:
    count = 45_000
    content = "id,name\n" + "".join(f'{n},"a\nb"\n' for n in range(count))
    rows = read(content.encode()).rows
    assert rows["id"].to_pylist() == [str(n) for n in range(count)]
    assert rows["_line"].to_pylist() == [2 + 2 * n for n in range(count)]


RETURN = "a carriage return that is not part of a line end"


@pytest.mark.parametrize(
    ("line", "reason", "raw"),
    [
        (b"7", "1 field instead of 2", "7"),
        (b"7,8,9", "3 fields instead of 2", "7,8,9"),
        (b"7,", None, None),
        (b"", "a blank line", ""),
        (b" ", "1 field instead of 2", " "),
        (b"id,name", "the header line again", "id,name"),
        (b'"id","name"', "the header line again", '"id","name"'),
        (b"ID,Name", "the header line again", "ID,Name"),
        (b"\xef\xbb\xbfid,name", "the header line again", "\ufeffid,name"),
        (b"7,Jos\xe9", "byte 0xe9 at byte offset 19 is not valid utf-8", r"7,Jos\xe9"),
        (b"\xff7", "byte 0xff at byte offset 14 is not valid utf-8", r"\xff7"),
        (b"7,a\0b", "a NUL byte", r"7,a\x00b"),
        (b'7,"a"b', "text after a closing quote", '7,"a"b'),
        (b'7,"a" ', "text after a closing quote", '7,"a" '),
        (b"7,a\rb", RETURN, "7,a\rb"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_that_is_no_record_is_rejected_alone(
    read: Read, line: bytes, reason: str | None, raw: str, end: bytes
) -> None:
    delivery = read(b"id,name\n" + b"1,Ada\n" + line + end + b"2,Bob\n")
    assert [row[0] for row in rows_of(delivery) if row[0] != "7"] == ["1", "2"]
    assert delivery.rows["_line"].to_pylist()[-1] == 4
    assert delivery.row_count == 3
    assert rejected_of(delivery) == ([(3, reason, raw)] if reason else [])


def test_a_second_carriage_return_before_the_line_end_is_rejected(read: Read) -> None:
    delivery = read(b"id,name\n1,Ada\r\r\n2,Bob\r\n")
    assert rows_of(delivery) == [("2", "Bob", 3)]
    assert rejected_of(delivery) == [(2, RETURN, "1,Ada\r")]


def test_a_misplaced_quote_rejects_every_line_that_it_makes_unsure(read: Read) -> None:
    delivery = read(b'id,name\n1,Ada\n2,"Bob\n3,Cy\n4,"Di"\n5,Eve\n')
    assert rows_of(delivery) == [("1", "Ada", 2), ("5", "Eve", 6)]
    assert [(row.line, row.raw) for row in delivery.rejected] == [
        (3, '2,"Bob'),
        (4, "3,Cy"),
        (5, '4,"Di"'),
    ]
    assert "begins on line 3 and ends on line 5" in delivery.rejected[1].reason


def test_a_record_of_several_lines_with_an_invalid_byte_is_rejected_once(read: Read) -> None:
    delivery = read(b'id,name\n1,"a\nb\xff"\n2,Bob\n')
    assert rows_of(delivery) == [("2", "Bob", 4)]
    assert [(row.line, row.raw) for row in delivery.rejected] == [(2, '1,"a\nb\\xff"')]


def test_a_file_whose_lines_are_all_rejected_has_no_rows(read: Read) -> None:
    delivery = read(b"id,name\n" + b"1;Ada\n" * 200)
    assert (delivery.rows.num_rows, len(delivery.rejected)) == (0, 200)


@pytest.mark.parametrize("content", [b"id,name\n", b"\xef\xbb\xbfid,name\r\n"])
def test_a_header_alone_is_an_empty_delivery(read: Read, content: bytes) -> None:
    delivery = read(content)
    assert delivery.row_count == 0
    assert delivery.rows.column_names == ["id", "name", "_line"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has not even a header"),
        (b"\xef\xbb\xbf", "has not even a header"),
        (b"\nid,name\n1,Ada\n", "header line cannot be read: a blank line"),
        (b"id,\n1,Ada\n", "column 2 has no name"),
        (b"id,name,id\n", "'id' twice"),
        (b"id,name,Name\n", "both 'name' and 'Name'"),
        (b"1,Ada\n2,Bob\n", "lacks columns that the feed declares: 'id', 'name'"),
        (b"id;name\n1;Ada\n", "declares: 'id', 'name'; it has .* 'id;name'"),
        (b"id,nam\xff\n", "header line cannot be read: byte 0xff at byte offset 6"),
        (b"i\0d,name\n", "header line cannot be read: a NUL"),
        (b"id,name\r1,Ada\r", "header line cannot be read: a carriage return"),
        (b'id,"name\n1,Ada\n', "header line cannot be read: a quoted field is still open"),
        (b'id,name\n1,"Ada\n2,Bob\n', "line 2: a quoted field is still open"),
        (b'id,name\n1,"A\xff\n2,Bob\n', "line 2: a quoted field is still open"),
        (b"id,name\n1,Ada\n2,Bo", "cut off on line 3: .*final_newline: optional"),
        (b"id,name\n1,Ada\r", "cut off on line 2"),
        (b"id,name", "cut off on line 1"),
        (b"id,na", "cut off on line 1"),
        (b'id,name\n1,"a\nb"', "cut off on line 3"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_refused(
    read: Read, content: bytes, message: str
) -> None:
    with pytest.raises(DeliveryError, match=rf"customers\.csv.*{message}"):
        read(content)


def test_a_source_that_writes_no_final_newline_can_say_so(read: Read) -> None:
    delivery = read(b"id,name\n1,Ada\n2,Bob", final_newline="optional")
    assert rows_of(delivery) == [("1", "Ada", 2), ("2", "Bob", 3)]
    assert rejected_of(read(b"id,name\n1,A\r", final_newline="optional")) == [(2, RETURN, "1,A")]
    assert read(b"id,name", final_newline="optional").row_count == 0


def test_an_optional_column_that_is_absent_is_null_with_a_warning(read: Read) -> None:
    columns = {"id": {}, "phone": {"optional": True}}
    delivery = read(b"id\n1\n", columns=columns)
    assert rows_of(delivery) == [("1", None, 2)]
    assert delivery.rows.schema.field("phone").type == pa.string()
    assert delivery.warnings == ("column 'phone' is absent: its values are null",)


def test_a_renamed_column_stops_the_file_and_suggests_the_rename(read: Read) -> None:
    columns = {"id": {}, "email": {}}
    with pytest.raises(
        ColumnsError, match=r"lacks .*'email'.*set 'from: \[e_mail, email\]'"
    ) as refused:
        read(b"id,e_mail\n1,a@b\n", columns=columns)
    assert refused.value.drift == (Drift("email", "renamed", "e_mail", refuses=True),)


@pytest.mark.parametrize("new_columns", ["fail", "ignore"])
def test_a_renamed_optional_column_stops_the_file_and_is_not_taken_for_gone(
    read: Read, new_columns: str
) -> None:
    columns = {"id": {}, "email": {"optional": True}}
    with pytest.raises(
        ColumnsError, match=r"set 'from: \[e_mail, email\]'.*'e_mail' under 'ignored"
    ) as error:
        read(b"id,e_mail\n1,a@b\n", columns=columns, new_columns=new_columns)
    assert error.value.drift == (Drift("email", "renamed", "e_mail", refuses=True),)
    # Told that it is another one, the reader goes on.
    fields = {"new_columns": new_columns, "ignored_columns": ["e_mail"]}
    assert read(b"id,e_mail\n1,a@b\n", columns=columns, **fields).drift == (
        Drift("email", "absent"),
    )


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("email", "email_address"),
        ("phone", "phone_number"),
        ("phone", "telephone"),
        ("country", "country_name"),
        ("customerName", "customer_title"),
        ("cust_nr", "customer"),
    ],
)
@pytest.mark.parametrize("optional", [True, False])
def test_a_new_name_that_has_the_old_one_or_a_word_of_it_in_it_is_a_rename(
    read: Read, was: str, now: str, optional: bool
) -> None:
    columns = {"id": {}, "x": {"from": was, "optional": optional}}
    with pytest.raises(ColumnsError, match=f"set 'from: .{now}, {was}") as refused:
        read(f"id,zzz,{now}\n1,2,3\n".encode(), columns=columns, new_columns="ignore")
    assert refused.value.drift[0] == Drift(was, "renamed", now, refuses=True)


def test_a_name_that_yaml_would_read_as_another_is_suggested_in_quotes(read: Read) -> None:
    with pytest.raises(ColumnsError) as refused:
        read(b" id,name\n1,Ada\n")
    assert """set 'from: [" id", id]'""" in str(refused.value)
    with pytest.raises(ColumnsError) as refused:
        read(b"id,no\n1,Ada\n")
    assert """set 'from: ["no", name]'""" in str(refused.value)


@pytest.mark.parametrize("name", ["e_mail", "email"])
def test_a_column_with_several_names_is_read_by_the_one_that_is_there(
    read: Read, name: str
) -> None:
    columns = {"id": {}, "email": {"from": ["e_mail", "email"]}}
    delivery = read(f"id,{name}\n1,a@b\n".encode(), columns=columns)
    assert rows_of(delivery) == [("1", "a@b", 2)]
    assert delivery.rows.column_names == ["id", "e_mail", "_line"]
    assert delivery.drift == ()


def test_two_columns_that_take_the_same_one_list_the_same_names(read: Read) -> None:
    names = ["e_mail", "email"]
    same = {"a": {"from": names}, "b": {"from": names}}
    assert rows_of(read(b"email\nx\n", columns=same)) == [("x", 2)]
    with pytest.raises(ValueError, match="two columns take 'email'.*the same 'from'"):
        read(b"email\nx\n", columns={"a": {"from": names}, "b": {"from": "email"}})


def test_a_column_that_is_there_by_two_of_its_names_is_refused(read: Read) -> None:
    columns = {"id": {}, "email": {"from": ["e_mail", "email"]}}
    with pytest.raises(DeliveryError, match="has 'e_mail', 'email', which are declared as names"):
        read(b"id,email,e_mail\n1,a@b,c@d\n", columns=columns)
    with pytest.raises(ColumnsError, match=r"'from: \[mail, e_mail, email\]'"):
        read(b"id,mail\n1,a@b\n", columns=columns)


def test_one_column_gone_and_one_new_are_a_rename_whatever_they_are_called(read: Read) -> None:
    columns = {"id": {}, "phone": {"optional": True}}
    with pytest.raises(ColumnsError) as refused:
        read(b"id,mobile\n1,2\n", columns=columns, new_columns="ignore")
    assert refused.value.drift == (Drift("phone", "renamed", "mobile", refuses=True),)
    told = {"new_columns": "ignore", "ignored_columns": ["mobile"]}
    assert read(b"id,mobile\n1,2\n", columns=columns, **told).drift == (Drift("phone", "absent"),)


def test_columns_that_are_not_alike_are_gone_and_new_and_not_renamed(read: Read) -> None:
    columns = {"customer_id": {}, "customer_phone": {"optional": True}}
    # A word that is in a column that is still there tells nothing.
    content = b"customer_id,customer_tier,loyalty\n1,gold,2\n"
    delivery = read(content, columns=columns, new_columns="ignore")
    assert delivery.drift == (
        Drift("customer_phone", "absent"),
        Drift("customer_tier", "new"),
        Drift("loyalty", "new"),
    )
    with pytest.raises(ColumnsError) as refused:
        read(b"loyalty,tier,phone\n1,2,3\n", columns={"id": {}, "phone": {}})
    assert refused.value.drift == (
        Drift("id", "missing", refuses=True),
        Drift("loyalty", "new", refuses=True),
        Drift("tier", "new", refuses=True),
    )


def test_a_new_column_that_is_like_one_that_is_there_is_new(read: Read) -> None:
    columns = {"id": {}, "email": {}}
    delivery = read(b"id,email,email_address\n1,a,b\n", columns=columns, new_columns="ignore")
    assert delivery.drift == (Drift("email_address", "new"),)


def test_one_new_column_is_not_the_new_name_of_two(read: Read) -> None:
    columns = {"email_1": {}, "email_2": {}}
    with pytest.raises(ColumnsError) as refused:
        read(b"email_3\na@b\n", columns=columns)
    assert refused.value.drift == (
        Drift("email_1", "renamed", "email_3", refuses=True),
        Drift("email_2", "missing", refuses=True),
    )


def test_a_delivery_that_is_as_declared_has_not_drifted(read: Read) -> None:
    assert read(b"id,name\n1,Ada\n").drift == ()


def test_a_new_column_stops_the_file_or_is_ignored_with_a_warning(read: Read) -> None:
    content = b"id,loyalty,name\n1,gold,Ada\n"
    with pytest.raises(DeliveryError, match=r"does not declare: 'loyalty'.*new_columns: ignore"):
        read(content)
    delivery = read(content, new_columns="ignore")
    assert rows_of(delivery) == [("1", "Ada", 2)]
    assert delivery.warnings == ("new columns are ignored: 'loyalty'",)


def test_an_ignored_column_is_delivered_for_conditions_to_use(read: Read) -> None:
    delivery = read(b"id,name,kind\n1,Ada,x\n", ignored_columns=("kind",))
    assert rows_of(delivery) == [("1", "Ada", "x", 2)]
    assert delivery.warnings == ()


def test_an_ignored_column_that_is_gone_is_missed_only_where_a_condition_uses_it(
    read: Read,
) -> None:
    delivery = read(b"id,name\n1,Ada\n", ignored_columns=("kind",))
    assert (delivery.warnings, delivery.drift) == ((), ())
    assert rows_of(delivery) == [("1", "Ada", None, 2)]
    delivery = read(b"id,name\n1,Ada\n", ignored_columns=("kind",), where="kind is null")
    assert delivery.warnings == ("column 'kind' is absent: its values are null",)
    assert delivery.drift == (Drift("kind", "absent"),)


def test_many_new_columns_make_a_short_message(read: Read) -> None:
    header = ",".join(["id", "name", *(f"extra{n}" * 30 for n in range(50))])
    with pytest.raises(DeliveryError, match=r"and 42 more") as caught:
        read(f"{header}\n".encode())
    assert len(str(caught.value)) < 1500
