"""How messages read: no secrets, no contents of rows, nobody called, nothing too long."""

from __future__ import annotations

import pytest

from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Message, from_json, to_json
from customer_pipeline.alerts.redaction import redacted, without_values
from customer_pipeline.alerts.rendering import cut, fitted, markdown, plain
from customer_pipeline.errors import ConfigError, DeliveryError
from customer_pipeline.redaction import secrets_in, secrets_of, without_secrets

SECRET = "hunter2-and-more"


@pytest.mark.parametrize(
    "text",
    [
        f"cannot connect to postgresql://admin:{SECRET}@db.example.com/shop",
        f"cannot connect to postgresql://admin:a/{SECRET}@b/{SECRET}@db.example.com/shop",
        f"GET https://api.example.com/orders?day=1&token={SECRET}&page=2 answered 500",
        f"password: '{SECRET}' is wrong",
        f"Authorization: Bearer {SECRET}",
        f"api_key={SECRET}",
    ],
)
def test_what_looks_like_a_secret_does_not_leave_the_house(text: str) -> None:
    assert SECRET not in without_secrets(text, ())
    assert SECRET not in to_json(redacted(Message("error", text, text, (text,), (text,)), ()))


def test_what_is_a_secret_in_the_environment_does_not_leave_the_house() -> None:
    environment = {"SHOP_PASSWORD": SECRET, "SHORT_TOKEN": "abc", "HOME": "/home/somebody"}
    text = f"in /home/somebody, abc: the source said {SECRET}"
    assert without_secrets(text, secrets_in(environment)) == (
        "in /home/somebody, abc: the source said ***"
    )


def test_an_error_of_the_pipeline_quotes_no_secret_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    error = DeliveryError("cut off", where=f"/in/{SECRET}/orders.csv", todo=f"look into {SECRET}")
    assert str(error) == "/in/***/orders.csv: cut off (look into ***)"
    assert (error.where, error.todo) == ("/in/***/orders.csv", "look into ***")


def test_the_password_of_a_url_in_the_environment_is_a_secret_by_itself_and_its_host_is_none() -> (
    None
):
    environment = {"SHOP_DATABASE": "postgresql://admin:hunter2%2Fand@db.example.com/shop_orders"}
    text = "db.example.com has no shop_orders for admin, with hunter2/and or hunter2%2Fand"
    assert without_secrets(text, secrets_in(environment)) == (
        "db.example.com has no shop_orders for admin, with *** or ***"
    )


def test_the_parts_of_a_channels_url_are_secrets_and_the_host_that_its_label_shows_is_none() -> (
    None
):
    (hook, chat) = parse_channels(
        "jsons://me-myself:pass%20word@hooks.example.com:8443/services/TokenA/TokenBB/?:key=TokenCC"
        f" slack://T1JJ3T3L2/A1BRTD4JD/{'x' * 24}/#data"
    )
    text = (
        "Max retries: hooks.example.com:8443 refused me-myself, pass word and pass%20word at"
        " /services/TokenA/TokenBB, TokenCC"
    )
    assert without_secrets(text, secrets_of(hook.url, shown=hook.label)) == (
        "Max retries: hooks.example.com:8443 refused ***, *** and *** at /***/***/***, ***"
    )
    text = f"/T1JJ3T3L2/A1BRTD4JD/{'x' * 24} said T1JJ3T3L2, no_team"
    assert without_secrets(text, secrets_of(chat.url, shown=chat.label)) == (
        "/***/***/*** said ***, no_team"
    )


@pytest.mark.parametrize(
    "value",
    ["12345.67", "2026-03-10 00:05:00", "Ada Lovelace''s", "two\nlines", 'with "one" quote', "cut"],
)
def test_each_value_of_a_row_is_left_out(value: str) -> None:
    reason = f"3 of 10 rows cannot be loaded; the first: line 17: amount: '{value}' is no integer"
    told = without_values(reason)
    assert told.endswith("line 17: amount: '…' is no integer")
    cut_off = reason[: reason.index(value) + len(value)]
    assert without_values(cut_off).endswith("line 17: amount: '…'")


def test_values_of_rows_are_left_out_and_the_rest_of_a_reason_stays() -> None:
    reason = (
        "orders: 3 of 10 rows cannot be loaded (30.0%, 5.0% allowed); the first: line 17:"
        " quantity: 'Ada Lovelace''s' is not an integer"
    )
    assert without_values(reason) == (
        "orders: 3 of 10 rows cannot be loaded (30.0%, 5.0% allowed); the first: line 17:"
        " quantity: '…' is not an integer"
    )
    drift = "orders: the delivery has no column 'email'"
    assert without_values(drift) == drift


def test_markup_in_data_is_escaped_where_markdown_is_spoken() -> None:
    message = Message("error", "it failed", reason="*a* [x](http://evil) <b> `rm` @here")
    assert r"\*a\* \[x\]\(http://evil\) \<b\> \`rm\`" in markdown(message).body
    assert "@here" not in markdown(message).body
    assert "*a* [x](http://evil) <b> `rm`" in plain(message).body


def test_what_is_cut_keeps_both_ends_and_the_length() -> None:
    text = "begin" + "x" * 1000 + "end"
    for length in (1, 30, 60, 500, 2000):
        shown = cut(text, length)
        assert len(shown) <= max(length, 1)
        if length >= 100:
            assert shown.startswith("begin") and shown.endswith("end")
    texts = fitted(plain(Message("error", "t" * 300, reason=text)), title=0, body=160)
    assert len(texts.title) + 2 + len(texts.body) <= 160


def test_a_message_survives_being_kept() -> None:
    message = Message("warning", "t", "r", ("a", "b"), ("f",), None, "m", "n", "l", ("o",), True)
    assert from_json(to_json(message)) == message


def test_channels_are_parsed_with_their_own_parameters() -> None:
    one, two, three = parse_channels(
        f" json://u:{SECRET}@h/p?min=warning&x=1&owner=team:sales,mailto://a:{SECRET}@b.com?to=c,d"
        "\n ntfy://topic?min=ERROR "
    )
    assert (one.least, one.owner, one.url) == (
        "warning",
        "team:sales",
        f"json://u:{SECRET}@h/p?x=1",
    )
    assert (two.least, two.owner) == ("info", None)
    assert two.url.endswith("?to=c,d"), "a comma inside a URL does not separate"
    assert three.least == "error"
    (room,) = parse_channels(f"slack://T1JJ3T3L2/A1BRTD4JD/{'x' * 24}/#data?min=warning")
    assert (room.least, room.url[-6:]) == ("warning", "/#data"), "a # begins no fragment"
    for channel in (one, two, three):
        assert SECRET not in f"{channel}{channel.label}{channel.name}"


@pytest.mark.parametrize(
    ("urls", "named"),
    [
        (f"slck://{SECRET}", "URL 1: Apprise does not know the service slck://"),
        (f"json://h json://{SECRET}?min=loud", "URL 2: min must be one of info, warning, error"),
        (f"json://{SECRET}?owner=", "URL 1: owner is empty"),
        (SECRET, "URL 1"),
    ],
)
def test_a_url_that_is_wrong_is_named_by_its_place_and_not_shown(urls: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_channels(urls)
    assert named in str(caught.value)
    assert SECRET not in str(caught.value)
