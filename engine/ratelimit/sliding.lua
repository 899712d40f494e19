-- Keys: the counter of this window, the counter of the one before.
algorithms["sliding-window"] = function(limit, now, key)
  local counter, before = key(), key()
  local current = tonumber(redis.call("GET", counter) or 0)
  local previous = tonumber(redis.call("GET", before) or 0)
  local elapsed = now % limit.window
  local weighted = math.floor(previous * (limit.window - elapsed) / limit.window)
  return weighted + current < limit.tokens, current, previous, function()
    if redis.call("INCR", counter) == 1 then
      redis.call("PEXPIRE", counter, whole(2 * limit.window + slack))
    end
  end
end
