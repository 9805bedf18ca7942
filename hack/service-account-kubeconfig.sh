#!/usr/bin/env bash
# Makes a kubeconfig with which a program outside the cluster runs as a ServiceAccount.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: hack/service-account-kubeconfig.sh NAMESPACE SERVICEACCOUNT

Asks the cluster of $KUBECONFIG for a token of the ServiceAccount, good for 24 hours, and prints the
path of a kubeconfig that has it: service-accounts/NAMESPACE.SERVICEACCOUNT.kubeconfig beside
$KUBECONFIG, readable by you only. A second call renews it.

example:
  eval "$(hack/cluster env)"
  KUBECONFIG=$(hack/service-account-kubeconfig.sh lnamespace-system lnamespace-controller) \
    .venv/bin/lnamespace controller
TEXT
}

fail() {
  echo "hack/service-account-kubeconfig.sh: $1" >&2
  exit 1
}

case ${1-} in -h | --help) usage; exit 0 ;; esac
[[ $# == 2 ]] || { usage >&2; exit 2; }
namespace=$1 account=$2
# Never fall back to ~/.kube/config: that may be somebody's production cluster.
[[ -n ${KUBECONFIG-} ]] || fail 'KUBECONFIG is not set: run eval "$(hack/cluster env)" first'
command -v kubectl >/dev/null || fail 'there is no kubectl: run eval "$(hack/cluster env)" first'

umask 077
folder=$(dirname "${KUBECONFIG%%:*}")/service-accounts
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
draft=$(mktemp "$folder/.new.XXXXXX") # in the same folder: the last step is a rename
trap 'rm -f "$draft"' EXIT

token=$(kubectl --namespace "$namespace" create token "$account" --duration 24h)
cluster=$(kubectl config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster}')
cat >"$draft" <<JSON
{
  "apiVersion": "v1",
  "kind": "Config",
  "clusters": [{"name": "cluster", "cluster": $cluster}],
  "users": [{"name": "$account", "user": {"token": "$token"}}],
  "contexts": [
    {"name": "$account", "context": {"cluster": "cluster", "user": "$account", "namespace": "$namespace"}}
  ],
  "current-context": "$account"
}
JSON
kubeconfig=$folder/$namespace.$account.kubeconfig
mv "$draft" "$kubeconfig"
echo "$kubeconfig"
