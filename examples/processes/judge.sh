#!/bin/sh
# A judge in shell: evaluator: {id: thanks, command: [sh, judge.sh]}. It looks for one word in the last reply.
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"hello"'*) echo "{\"id\":$id,\"result\":{\"protocol\":1,\"kind\":\"judge\",\"name\":\"thanks\",\"version\":\"1\"}}" ;;
    *'"method":"judge"'*)
      case "$line" in
        *[Tt]hank*) echo "{\"id\":$id,\"result\":{\"present\":true,\"reason\":\"The word is there.\"}}" ;;
        *) echo "{\"id\":$id,\"result\":{\"present\":false,\"reason\":\"The word is not there.\"}}" ;;
      esac ;;
  esac
done
