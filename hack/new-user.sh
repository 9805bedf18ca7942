#!/usr/bin/env bash
# Makes a user with a client certificate, through the CSR API, as on a real cluster.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: hack/new-user.sh NAME [GROUP ...]

Asks the cluster of $KUBECONFIG for a client certificate for NAME in the groups, approves the
request, and prints the path of a kubeconfig that has it. The kubeconfigs are kept in
$LNAMESPACE_USERS_DIR, by default the folder `users` beside $KUBECONFIG.

examples:
  eval "$(hack/cluster env)"
  alice=$(hack/new-user.sh alice team-a team-b)
  kubectl --kubeconfig "$alice" auth whoami
  KUBECONFIG=$(hack/new-user.sh first.last@loblaw.ca) kubectl get namespaces
TEXT
}

fail() {
  echo "hack/new-user.sh: $1" >&2
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
python=$here/../.venv/bin/python

case ${1-} in
  -h | --help) usage; exit 0 ;;
  '') usage >&2; exit 2 ;;
esac
# Never fall back to ~/.kube/config: that may be somebody's production cluster.
[[ -n ${KUBECONFIG-} ]] || fail 'KUBECONFIG is not set: run eval "$(hack/cluster env)" first'
command -v kubectl >/dev/null || fail 'there is no kubectl: run eval "$(hack/cluster env)" first'
[[ -x $python ]] || fail 'the Python packages are missing: run `make .venv` first'

umask 077
users=${LNAMESPACE_USERS_DIR:-$(dirname "${KUBECONFIG%%:*}")/users}
mkdir -p "$users"
users=$(cd "$users" && pwd -P)
work=$(mktemp -d "$users/.new.XXXXXX") # in the same file system: the last step is a rename
trap 'rm -rf "$work"' EXIT

PYTHONPATH=$here "$python" -m controlplane.user request "$work" "$@"
kubectl config view --raw --minify --flatten -o json >"$work/view.json"

created=$(kubectl create -f "$work/request.json" -o name)
request=${created##*/}
kubectl certificate approve "$request" >/dev/null
kubectl wait "csr/$request" --for='jsonpath={.status.certificate}' --timeout=30s >/dev/null ||
  fail "no certificate came for $request: is kube-controller-manager running?"
kubectl get csr "$request" -o 'jsonpath={.status.certificate}' >"$work/certificate"

PYTHONPATH=$here "$python" -m controlplane.user kubeconfig "$work"
kubeconfig=$users/$(cat "$work/stem").kubeconfig
mv "$work/kubeconfig" "$kubeconfig"
echo "$kubeconfig"
