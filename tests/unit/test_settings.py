"""Every option once: flag, then environment, then default; what cannot work says which and why."""

import argparse
import dataclasses

import pytest
from hypothesis import given
from lnamespace.errors import SettingsError
from lnamespace.model.names import DEFAULT_SUFFIX, Names
from lnamespace.settings import Settings, add_options, documented, load

from tests.unit.support.strategies import tenants


def loaded(*argv: str, **environment: str) -> Settings:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser)
    return load(parser.parse_args(argv), environment)


def test_without_any_option_the_defaults_hold() -> None:
    assert loaded() == Settings()


def test_the_default_suffix_is_that_of_the_names() -> None:
    assert Settings().api_group_suffix == DEFAULT_SUFFIX == Names().suffix
    assert Settings().sudoers_group_format == Names().sudoers_group_format


def test_the_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    variable = {"LNAMESPACE_USERS_ROLE": "from-environment"}
    assert loaded().users_role == "admin"
    assert loaded(**variable).users_role == "from-environment"
    assert loaded("--users-role", "from-flag", **variable).users_role == "from-flag"
    assert loaded("--users-role", "admin", **variable).users_role == "admin"


def test_numbers_are_numbers_in_both() -> None:
    assert loaded("--workers", "3").workers == 3
    assert loaded(LNAMESPACE_WORKERS="4").workers == 4


def test_other_variables_are_not_read() -> None:
    assert loaded(LNAMESPACE_COLOUR="red", WORKERS="9", PATH="/") == Settings()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--workers", "0"),
        ("--concurrency", "-1"),
        ("--resync-seconds", "0"),
        ("--log-format", "xml"),
        ("--log-level", "INFO"),
        ("--users-role", ""),
        ("--sudoers-group-format", "sudoers"),
        ("--sudoers-group-format", ""),
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
    ],
)
def test_a_value_that_cannot_work_is_refused_by_the_name_of_its_option(
    option: str, value: str
) -> None:
    with pytest.raises(SettingsError, match=option):
        loaded(f"{option}={value}")
    variable = "LNAMESPACE_" + option.removeprefix("--").replace("-", "_").upper()
    with pytest.raises(SettingsError, match=option):
        loaded(**{variable: value})


@pytest.mark.parametrize("value", ["many", "", "1.5"])
def test_a_variable_that_is_no_number_is_named(value: str) -> None:
    with pytest.raises(SettingsError, match="LNAMESPACE_WORKERS") as error:
        loaded(LNAMESPACE_WORKERS=value + "\nx")
    assert "\n" not in str(error.value)


def test_a_suffix_as_long_as_may_be_makes_a_label_that_may_be() -> None:
    assert len(Names(loaded("--api-group-suffix", "x" * 52).api_group_suffix).prefix) == 63


@pytest.mark.parametrize("value", ["{name}-sudoers", "k8s:{name}", "oidc:{name}:sudo", "x{name}"])
def test_a_group_format_may_be_anything_else(value: str) -> None:
    assert loaded("--sudoers-group-format", value).sudoers_group_format == value


@given(tenants)
def test_no_format_that_is_accepted_makes_a_group_of_the_system(tenant: str) -> None:
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


def test_every_option_is_in_the_help_with_its_variable_and_default() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    text = " ".join(parser.format_help().split())
    for flag, variable, default, meaning in documented():
        assert flag in text
        assert f"[{variable}; " in text
        assert default in text
        assert " ".join(meaning.split()) in text
