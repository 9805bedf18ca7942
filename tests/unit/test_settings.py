"""Every option once: flag, then environment, then default; what cannot work says which and why."""

import argparse
import dataclasses

import pytest
from hypothesis import given
from lnamespace.errors import SettingsError
from lnamespace.model.names import DEFAULT_SUFFIX, Names
from lnamespace.settings import Settings, add_options, documented, items, load

from tests.unit.support.strategies import tenants

COMMANDS = ("controller", "webhook", "gateway", "ledger")


def loaded(*argv: str, command: str = "controller", **environment: str) -> Settings:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, command)
    return load(parser.parse_args(argv), environment)


def test_the_defaults_apply_without_any_option() -> None:
    assert loaded() == Settings()


def test_the_default_suffix_and_group_format_are_those_of_the_names() -> None:
    assert Settings().api_group_suffix == DEFAULT_SUFFIX == Names().suffix
    assert Settings().sudoers_group_format == Names().sudoers_group_format


def test_a_flag_overrides_the_environment_and_the_environment_the_default() -> None:
    variable = {"LNAMESPACE_USERS_ROLE": "from-environment"}
    assert loaded().users_role == "admin"
    assert loaded(**variable).users_role == "from-environment"
    assert loaded("--users-role", "from-flag", **variable).users_role == "from-flag"
    assert loaded("--users-role", "admin", **variable).users_role == "admin"


def test_numbers_are_parsed_from_flags_and_from_the_environment() -> None:
    assert loaded("--workers", "3").workers == 3
    assert loaded(LNAMESPACE_WORKERS="4").workers == 4


def test_limit_exceptions_are_json_because_user_names_may_contain_commas() -> None:
    assert loaded().limit_per_requester == 20
    assert loaded("--limit-per-requester", "0").limit_per_requester == 0
    assert loaded().limits_by_name == {}
    exceptions = loaded(LNAMESPACE_LIMIT_EXCEPTIONS='{"cn=bob,ou=people": 7}').limits_by_name
    assert exceptions == {"cn=bob,ou=people": 7}
    assert loaded().lcluster_limit_per_requester == 3
    assert loaded("--lcluster-limit-per-requester", "0").lcluster_limit_per_requester == 0
    exceptions = loaded(LNAMESPACE_LCLUSTER_LIMIT_EXCEPTIONS='{"bob": 7}').lcluster_limits_by_name
    assert exceptions == {"bob": 7}


@pytest.mark.parametrize("option", ["lcluster-namespaces", "lcluster-definitions"])
def test_a_limit_of_zero_disables_a_limit_of_an_lcluster(option: str) -> None:
    assert getattr(loaded(f"--{option}", "0"), option.replace("-", "_")) == 0
    with pytest.raises(SettingsError, match=f"--{option} must be at least 0"):
        loaded(f"--{option}", "-1")


def test_other_environment_variables_are_ignored() -> None:
    assert loaded(LNAMESPACE_COLOUR="red", WORKERS="9", PATH="/") == Settings()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--workers", "0"),
        ("--limit-per-requester", "-1"),
        ("--limit-exceptions", "ci-bot=5"),
        ("--limit-exceptions", '{"ci-bot": -1}'),
        ("--limit-exceptions", '{"ci-bot": "5"}'),
        ("--limit-exceptions", "[5]"),
        ("--lcluster-limit-per-requester", "-1"),
        ("--lcluster-limit-exceptions", '{"ci-bot": -1}'),
        ("--lcluster-limit-exceptions", "[5]"),
        ("--concurrency", "-1"),
        ("--resync-seconds", "0"),
        ("--log-format", "xml"),
        ("--log-level", "INFO"),
        ("--users-role", ""),
        ("--sudoers-group-format", "sudoers"),
        ("--class-name", "Gold"),
        ("--class-name", "a.b"),
        ("--class-name", "x" * 64),
        ("--sudoers-group-format", "system:{name}"),
        # A tenant may be called `system`, or `ystem`.
        ("--sudoers-group-format", "{name}:masters"),
        ("--sudoers-group-format", "s{name}:masters"),
        ("--api-group-suffix", ""),
        ("--api-group-suffix", "Loblaw.Digital"),
        ("--api-group-suffix", "a:b"),
        ("--api-group-suffix", "a..b"),
        ("--api-group-suffix", ".a"),
        ("--api-group-suffix", "a."),
        ("--api-group-suffix", "a b"),
        ("--api-group-suffix", "a\n"),
        # The managed-by label carries it, and a label's value has at most 63 characters.
        ("--api-group-suffix", "x" * 53),
        ("--lease", "lnamespace-system"),
        ("--lease", "a/b/c"),
        ("--sudo-layout", "account"),
        ("--sudo-layout", ""),
        ("--default-lists", "users,owners"),
        ("--certificate-hours", "0"),
        ("--drain-seconds", "-1"),
        ("--batch-size", "0"),
        ("--compare-hours", "0"),
        ("--ledger-manage", "Always"),
    ],
)
def test_an_invalid_value_is_refused_with_the_name_of_its_option(option: str, value: str) -> None:
    commands = [command for command in COMMANDS if f"{option} " in helped(command)]
    assert commands
    for command in commands:
        with pytest.raises(SettingsError, match=option):
            loaded(f"{option}={value}", command=command)
    variable = "LNAMESPACE_" + option.removeprefix("--").replace("-", "_").upper()
    with pytest.raises(SettingsError, match=option):
        loaded(**{variable: value})


@pytest.mark.parametrize("value", ["many", "", "1.5"])
def test_an_invalid_number_is_refused_with_the_name_of_its_variable(value: str) -> None:
    with pytest.raises(SettingsError, match="LNAMESPACE_WORKERS") as error:
        loaded(LNAMESPACE_WORKERS=value + "\nx")
    assert "\n" not in str(error.value)


def test_the_longest_suffix_gives_a_valid_label() -> None:
    assert len(Names(loaded("--api-group-suffix", "x" * 52).api_group_suffix).prefix) == 63


@pytest.mark.parametrize("value", ["{name}-sudoers", "k8s:{name}", "oidc:{name}:sudo", "x{name}"])
def test_other_group_formats_are_accepted(value: str) -> None:
    assert loaded("--sudoers-group-format", value).sudoers_group_format == value


@given(tenants)
def test_no_accepted_group_format_gives_a_system_group(tenant: str) -> None:
    for value in ("{name}-sudoers", "k8s:{name}", "syste{name}", "{name}", "{name}system"):
        names = Names(
            sudoers_group_format=Settings(sudoers_group_format=value).sudoers_group_format
        )
        assert not names.sudoers_group(tenant).startswith("system:")


def test_reserved_names_are_separated_by_commas() -> None:
    assert Settings().reserved == ()
    assert loaded("--reserved-names", "prod-*, ,infra,").reserved == ("prod-*", "infra")


def test_every_option_is_documented() -> None:
    table = {
        flag: (variable, default, meaning) for flag, variable, default, meaning in documented()
    }
    assert len(table) == len(dataclasses.fields(Settings))
    for option in dataclasses.fields(Settings):
        variable, default, meaning = table["--" + option.name.replace("_", "-")]
        assert variable == "LNAMESPACE_" + option.name.upper()
        assert default == str(option.default)
        assert meaning.endswith(".")


def helped(command: str) -> str:
    parser = argparse.ArgumentParser()
    add_options(parser, command)
    return " ".join(parser.format_help().split())


def test_every_option_is_in_a_help_with_its_variable_and_default() -> None:
    texts = [helped(command) for command in COMMANDS]
    for flag, variable, default, meaning in documented():
        found = [text for text in texts if f"{flag} " in text]
        assert found, flag
        for text in found:
            assert f"[{variable}; " in text
            assert default in text
            assert " ".join(meaning.split()) in text


def test_a_command_has_exactly_the_options_that_it_reads() -> None:
    assert loaded("--listen", "127.0.0.1:0", command="webhook").listen == "127.0.0.1:0"
    assert loaded("--batch-size", "7", command="ledger").batch_size == 7
    for command in COMMANDS:
        assert loaded("--log-level", "debug", command=command).log_level == "debug"
    for option, command in [
        ("--ledger-url", "controller"),
        ("--ledger-url", "webhook"),
        ("--workers", "webhook"),
        ("--listen", "ledger"),
        ("--listen", "controller"),
    ]:
        assert f"{option} " not in helped(command)


def test_only_the_ledger_command_has_the_database_url_option() -> None:
    """Its URL may hold a password."""
    assert [c for c in COMMANDS if "--ledger-url " in helped(c)] == ["ledger"]


def test_lists_are_separated_by_commas() -> None:
    assert items(Settings().default_lists) == ("users", "managers", "sudoers")
    assert items(" a, ,b,") == ("a", "b")
    assert items("") == ()
