#!/bin/sh
# A client in shell, with curl, jq and openssl, and its adapter for the suite that judges clients:
#
#   understudy conform --client 'sh adapter.sh'
#
# The client takes three options and offers a few operations. The adapter is the last part.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
prefix=Svc issuer=Svc repeats=0 limit=600

fail() { # CLASS MESSAGE [STATUS]
	jq -cn --arg class "$1" --arg message "$2" --argjson status "${3:-null}" '{error: {$class, library: true, $message, $status}}'
	return 1
}

escaped() { jq -rn --arg text "$1" '$text | @uri | if . == "." or . == ".." then gsub("[.]"; "%2E") else . end'; }

# segment NAME VALUE is a value as a segment of a path, which must not be empty.
segment() { if [ -n "$2" ]; then escaped "$2"; else fail ArgumentError "$1 must not be empty"; fi; }

# request METHOD PATH JQ sends a request; headers and body are the files head and body, if they exist. It
# prints {"result": ...} with what JQ makes of the response, or the error.
request() {
	method=$1 path=$2 result=${3:-}
	[ ! -f "$work/body" ] || set -- --data-binary "@$work/body"
	[ -f "$work/body" ] || set --
	[ "$method" != POST ] || [ $# -gt 0 ] || set -- --header 'Content-Length: 0'
	printf 'header = "Authorization: Bearer %s"\nheader = "Expect:"\n' "$token" >>"$work/head"
	grep -qi '^header = "content-type:' "$work/head" || echo 'header = "Content-Type:"' >>"$work/head"
	: >"$work/reply"
	tried=0
	until status=$(curl --silent --show-error --globoff --path-as-is --max-time "$limit" --compressed --config "$work/head" --request "$method" "$@" \
		--output "$work/reply" --write-out '%{http_code}' "$url$path" 2>"$work/stderr"); do
		tried=$((tried + 1))
		[ "$tried" -le "$repeats" ] || fail ConnectionError "$(cat "$work/stderr")" || return
	done
	case $status in
	2??) [ -n "$result" ] || { echo '{"result":null}' && return; }
		made=$(jq -ec "{result: ($result)}" "$work/reply" 2>/dev/null) && [ -n "$made" ] && echo "$made" || fail ResponseError "status $status, but the body is not what is documented" "$status" ;;
	*) fail StatusError "status $status: $(jq -er .error "$work/reply" 2>/dev/null || head -c 200 "$work/reply")" "$status" ;;
	esac
}

id='if type == "object" and .messageId then . elif type == "array" and length > 0 then . else error end'
page='if type == "object" then with_entries(select(.value != null and .value != "")) else error end'

# verify CURRENT NEXT SIGNATURE URL TOLERANCE says whether a key signed the file body.
verify() {
	unpadded() { base64 -w 0 | tr '/+' '_-' | tr -d '='; }
	signed=${3%.*} digest=$(openssl dgst -sha256 -binary "$work/body" | unpadded)
	for key in "$1" "$2"; do
		[ -n "$key" ] && [ "$(printf %s "$signed" | openssl dgst -sha256 -mac HMAC -macopt "key:$key" -binary | unpadded)" = "${3##*.}" ] || continue
		jq -en --arg token "$signed" --arg issuer "$issuer" --arg url "$4" --arg digest "$digest" --argjson tolerance "$5" '
			def part: gsub("-"; "+") | gsub("_"; "/") | @base64d | fromjson;
			($token | split(".")) as $p | ($p | length) == 2 and ($p[0] | part | .alg == "HS256") and ($p[1] | part |
			.iss == $issuer and ($url == "" or .sub == $url) and (.exp + $tolerance >= now) and (.nbf - $tolerance <= now) and ((.body | rtrimstr("=")) == $digest))' \
			>"$work/valid" 2>/dev/null && echo '{"result":{"valid":true}}' && return
	done
	fail SignatureError 'the signature is not valid'
}

# Here the adapter begins.

# arguments are shell variables with what the calls need.
arguments='{op, url: .client.url, token: .client.token, repeats: (.client.retry.repeats // 0), limit: ((.client.timeout_ms // 600000) / 1000), times: (.times // 1), dialect,
	to: (.args.destination.url // .args.destination.group), queue: .args.queue, entry: .args.dlqId, key: .args.key, current: .args.current, next: .args.next,
	signature: .args.signature, address: .args.url, tolerance: (.args.tolerance_s // 0), form: (.args.body // {} | keys[0])} | to_entries[] | "\(.key)=\(.value // "" | tostring | @sh)"'

# message writes the files head and body of a message.
message() {
	if jq -e '[.args.headers[]?[], (.args.options // {} | .[] | strings)] | any(test("[\r\n\u0000]"))' "$work/call" >/dev/null; then fail ArgumentError 'a line break in a header'; return; fi
	jq -r --arg p "$prefix" '
		def seconds: if type == "number" then "\(.)s" else . end;
		def write: "header = \(.[0] + ": " + .[1] | tojson)";
		(.args | select(.method) | ["\($p)-Method", .method] | write),
		(.args.headers[]? | if (.[0] | ascii_downcase) == "content-type" then . elif .[0] | test("^\($p)-Forward-"; "i") then . else ["\($p)-Forward-\(.[0])", .[1]] end | write),
		(.args | select((.body // {} | has("json")) and all(.headers[]?; (.[0] | ascii_downcase) != "content-type")) | ["Content-Type", "application/json"] | write),
		(.args.options // {} | to_entries[] | select(.value != null) |
			{delay: "Delay", retries: "Retries", retry_delay: "Retry-Delay", timeout: "Timeout", callback: "Callback", deduplication_id: "Deduplication-Id"}[.key] as $name |
			["\($p)-\($name)", (.value | if $name == "Delay" or $name == "Timeout" then seconds else tostring end)] | write)' "$work/call" >"$work/head"
	body
}

body() {
	case $form in
	text) jq -j .args.body.text "$work/call" >"$work/body" ;;
	json) printf '%s' "$(jq -c .args.body.json "$work/call")" >"$work/body" ;;
	base64) jq -j .args.body.base64 "$work/call" | base64 -d >"$work/body" ;;
	esac
}

# call OPERATION prints the answer. A refusal is printed instead of a path.
call() {
	rm -f "$work/head" "$work/body"
	at=''
	case $1 in
	publish*) message && at=$(segment destination "$to") ;;
	enqueue*) message && at=$(segment queue "$queue") && line=$at && at=$(segment destination "$to") ;;
	dlq.restart) message && at=$(segment dlqId "$entry") ;;
	flow.resume) at=$(segment key "$key") ;;
	esac || { printf '%s' "$at" && return; }
	case $1 in
	publish*) request POST "/v2/publish/$at" "$id" ;;
	enqueue*) request POST "/v2/enqueue/$line/$at" "$id" ;;
	dlq.list) request GET "/v2/workflows/dlq$(query)" "$page" ;;
	log.list) request GET "/v2/workflows/messageLogs$(query)" "$page" ;;
	dlq.restart) request POST "/v2/dlq/restart/$at" 'if .workflowRunId then . else error end' ;;
	flow.resume) request POST "/v2/flowControl/$at/resume" ;;
	verify) : >"$work/body" && body && verify "$current" "$next" "$signature" "$address" "$tolerance" ;;
	*) jq -cn --arg op "$1" '{unsupported: "operation \($op)"}' ;;
	esac
}

query() { jq -r '[.args | (.filters // {} | to_entries[]), {key: "cursor", value: .cursor}, {key: "count", value: .count} | select(.value != null) | .key as $k | [.value] | flatten[] | "\($k)=\(tostring | @uri)"] | if . == [] then "" else "?" + join("&") end' "$work/call"; }

hello='{"protocol":1,"name":"shell-client","version":"1","language":"sh with curl","operations":["publish","publish.json","enqueue","enqueue.json","dlq.list","log.list","dlq.restart","flow.resume","verify"],
	"options":["method","headers","filters","delay","retries","retry_delay","timeout","callback","deduplication_id"],"features":["base_url","path_prefix","retry","timeout","tls","plain","bytes","json.any","verify.bytes","tolerance","error.status","no_redirect"],"sentinel":"dlq.list","depends":["curl","jq","openssl"]}'

while IFS= read -r line; do
	printf '%s\n' "$line" >"$work/call"
	eval "$(jq -r "$arguments" "$work/call")"
	while [ "${url%/}" != "$url" ]; do url=${url%/}; done
	if [ "$op" = hello ]; then
		[ "$dialect" != upstash ] || { prefix=Upstash issuer=Upstash; }
		answer=$hello
	else
		for _ in $(seq "$times"); do answer=$(call "$op"); done
	fi
	printf '%s' "$answer" | jq -c --slurpfile call "$work/call" '{id: $call[0].id} + .'
done
