#!/bin/sh
# The adapter of my client, which is a command line: the suite that judges clients drives it.
#
#   understudy conform --client 'sh adapter.sh'
#
# One JSON object per line on standard input, one answer per line on standard output; needs jq.
# Convert names only: never repair, retry, validate or hide a failure of the client.
answer() { # ID, and the members of the answer as JSON
  printf '{"id":%s,%s}\n' "$1" "$2"
}

publish() { # FILL IN: your command instead of curl; its output is the result
  url=$(printf %s "$1" | jq -r .client.url)
  token=$(printf %s "$1" | jq -r .client.token)
  to=$(printf %s "$1" | jq -r '.args.destination.url // .args.destination.group')
  printf %s "$1" | jq -j '.args.body.text // ""' |
    curl -sS --fail-with-body -X POST -H "Authorization: Bearer $token" --data-binary @- "$url/v2/publish/$to"
}

while read -r line; do
  id=$(printf %s "$line" | jq .id)
  case $(printf %s "$line" | jq -r .op) in
  hello)
    answer "$id" '"protocol":1,"name":"acme","version":"1.0.0","language":"sh","operations":["publish"],"options":[],"features":["base_url"],"sentinel":"publish"'
    ;;
  publish)
    if out=$(publish "$line" 2>&1); then
      answer "$id" "\"result\":$(printf %s "$out" | jq -Rsc 'fromjson? // .')"
    else # what the client prints when it fails is its answer
      answer "$id" "\"error\":{\"class\":\"exit\",\"message\":$(printf %s "$out" | jq -Rs .)}"
    fi
    ;;
  # verify: answer {"result":{"valid":true}}, or an error; see docs/client-suite.md for all names
  *) answer "$id" '"unsupported":"this operation"' ;;
  esac
done
