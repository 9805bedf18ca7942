"""The options of all commands, and what their values must be."""

import dataclasses
from dataclasses import dataclass

from lnamespace.errors import OptionError
from lnamespace.settings.checks import (
    REFERENCES,
    check_choice,
    check_class,
    check_group_format,
    check_limits,
    check_number,
    check_reference,
    check_suffix,
    items,
    parse_limits,
)
from lnamespace.settings.gateway_options import GatewayOptions
from lnamespace.settings.ledger_options import LedgerOptions
from lnamespace.settings.tenancy_options import TenancyOptions


# The last base comes first in the documentation.
@dataclass(frozen=True)
class Settings(LedgerOptions, GatewayOptions, TenancyOptions):
    """The options of one instance."""

    def __post_init__(self) -> None:
        check_suffix(self.api_group_suffix)
        check_group_format(self.sudoers_group_format)
        check_class(self.class_name)
        if not self.users_role:
            raise OptionError("--users-role must name a ClusterRole")
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            check_choice(option.name, value)
            if isinstance(option.default, int):
                check_number(option.name, value, option.default)
        for name in ("limit_exceptions", "lcluster_limit_exceptions"):
            check_limits(name, getattr(self, name))
        for name in REFERENCES:
            check_reference(name, getattr(self, name))
        if not set(items(self.default_lists)) <= {"users", "managers", "sudoers"}:
            raise OptionError("--default-lists must name some of users, managers, sudoers")

    @property
    def limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LNamespaces by user name."""
        return parse_limits("limit_exceptions", self.limit_exceptions)

    @property
    def lcluster_limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LClusters by user name."""
        return parse_limits("lcluster_limit_exceptions", self.lcluster_limit_exceptions)

    @property
    def reserved(self) -> tuple[str, ...]:
        """Return the patterns of further reserved names."""
        return items(self.reserved_names)
