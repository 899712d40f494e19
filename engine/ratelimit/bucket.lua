-- Keys: the bucket, a hash of refilledAt (Unix ms) and tokens.
algorithms["token-bucket"] = function(limit, now, key)
  local bucket = key()
  local stored = redis.call("HMGET", bucket, "refilledAt", "tokens")
  local refilledAt = tonumber(stored[1] or now)
  local before = tonumber(stored[2] or limit.tokens)
  local tokens, at = math.min(before, limit.tokens), refilledAt
  local due = math.floor((now - at) / limit.window)
  if due >= 1 then
    tokens = math.min(limit.tokens, tokens + due * limit.refill)
    at = at + due * limit.window
  end
  return tokens >= 1, before, refilledAt, function()
    redis.call("HSET", bucket, "refilledAt", whole(at), "tokens", whole(tokens - 1))
    local refills = math.ceil((limit.tokens - tokens + 1) / limit.refill)
    redis.call("PEXPIRE", bucket, whole(math.min(refills * limit.window, longest) + slack))
  end
end
