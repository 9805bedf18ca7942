"""Judge the published objects: those that every LCluster sees, and those that they hide."""

from collections.abc import Iterator
from dataclasses import replace

from lnamespace.gateway.check.finding import CheckFinding, Severity, group_of, name_all
from lnamespace.gateway.check.state import PlatformState
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CUSTOM_RESOURCE_DEFINITION,
    PRIORITY_CLASS,
    STORAGE_CLASS,
)
from lnamespace.translate.discovery.published import WILDCARD, Published, PublishedObjects
from lnamespace.translate.protocol.resources import GroupResource

_PRIORITIES = GroupResource(PRIORITY_CLASS.group, PRIORITY_CLASS.plural)


def find_publication_problems(state: PlatformState) -> Iterator[CheckFinding]:
    """Yield the findings about published names."""
    published = _without_kubernetes_roles(state.published)
    resources = {*published.objects, _PRIORITIES}
    seen = {resource: _names(published, resource, state) for resource in resources}
    for resource, names in sorted(seen.items(), key=lambda each: each[0].plural):
        if names:
            about = str(resource) if resource in published.custom_names else resource.plural
            some = name_all(names)
            yield CheckFinding(Severity.NOTE, about, f"every LCluster sees {some}", long=some)
    for name in state.secret_parameters:
        yield CheckFinding(
            Severity.WARNING,
            f"storageclasses {name}",
            "its parameters name a Secret of the platform, and every LCluster reads the names",
            "nobody reads the Secret by that; if the names tell too much, set them in the driver",
        )
    if published.usable:
        some = name_all(map(str, published.usable))
        yield CheckFinding(
            Severity.NOTE,
            "customresourcedefinitions",
            f"every LCluster may have {some}: what answers them acts for people of LClusters",
            long=some,
        )
    for each in state.default_classes:
        resource = GroupResource(each.resource.group, each.resource.plural)
        if each.metadata.name not in seen.get(resource, ()):
            yield CheckFinding(
                Severity.WARNING,
                str(each),
                "it is the default, which LClusters may not name: what names no class is refused, "
                "unless the LCluster has a default of its own",
                "add it to gateway.published",
            )
    yield from _free_volumes(state, seen)
    yield from _shadowed(state, seen)
    yield from _missing(state, published, seen)


def _without_kubernetes_roles(published: Published) -> Published:
    """Return the published objects without the ClusterRoles that every Kubernetes has."""
    roles = GroupResource(CLUSTER_ROLE.group, CLUSTER_ROLE.plural)
    objects = dict(published.objects)
    if roles in objects:
        objects[roles] = PublishedObjects(objects[roles].further)
    return replace(published, objects=objects)


def _names(published: Published, resource: GroupResource, state: PlatformState) -> frozenset[str]:
    if resource in published.custom_names:
        return published.custom_names[resource]
    of_kind = (
        (each.metadata.name, each.metadata.labels)
        for each in state.objects
        if GroupResource(each.resource.group, each.resource.plural) == resource
    )
    found = published.names(resource, of_kind, state.names.lcluster_label)
    # Admission writes it into pods, so it is seen whatever is published.
    return found | state.default_priorities if resource == _PRIORITIES else found


def _free_volumes(
    state: PlatformState, seen: dict[GroupResource, frozenset[str]]
) -> Iterator[CheckFinding]:
    """Report the platform's volumes for which claims of LClusters would wait."""
    classes = GroupResource(STORAGE_CLASS.group, STORAGE_CLASS.plural)
    beginnings = seen.get(classes, frozenset()) - {
        *state.published.objects.get(classes, PublishedObjects(())).names
    }
    for volume in state.free_volumes:
        if volume.storage_class in beginnings:
            yield CheckFinding(
                Severity.WARNING,
                f"persistentvolumes {volume.name}",
                f"it is free and not for LClusters, whose claims of class {volume.storage_class} "
                "wait for it",
                "name the class in gateway.published.storageClasses without *, or write the "
                "claimRef of the volume",
            )


def _shadowed(
    state: PlatformState, seen: dict[GroupResource, frozenset[str]]
) -> Iterator[CheckFinding]:
    """Report objects of LClusters that a published name hides from them."""
    for each in state.objects:
        tenant = state.label_of(each)
        if not tenant:
            continue
        if each.resource is CUSTOM_RESOURCE_DEFINITION:
            hidden = group_of(each).removeprefix(f"{tenant}-") in state.published.groups
        else:
            resource = GroupResource(each.resource.group, each.resource.plural)
            own = each.metadata.name.removeprefix(f"{tenant}-")
            hidden = own in seen.get(resource, ())
        if hidden:
            yield CheckFinding(
                Severity.PROBLEM,
                str(each),
                f"LCluster {tenant} cannot reach it: what is published goes before it",
                "publish another name, or have its people make it anew under another",
            )


def _missing(
    state: PlatformState, published: Published, seen: dict[GroupResource, frozenset[str]]
) -> Iterator[CheckFinding]:
    """Report names that are to be published and do not exist."""
    definitions = {
        each.metadata.name
        for each in state.objects
        if each.resource is CUSTOM_RESOURCE_DEFINITION and not state.label_of(each)
    }
    wanted = {
        f"{resource.plural} {name}"
        for resource, rule in published.objects.items()
        for name in rule.names
        if WILDCARD not in name and name not in seen[resource]
    }
    custom = {str(each) for each in (*published.custom_names, *published.usable)}
    wanted |= {f"customresourcedefinitions {each}" for each in custom - definitions}
    for about in sorted(wanted):
        yield CheckFinding(
            Severity.WARNING,
            about,
            "it is to be published, and there is none",
            "make it, or take it out of gateway.published",
        )
