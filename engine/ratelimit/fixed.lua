-- Keys: the counter of this window.
algorithms["fixed-window"] = function(limit, now, key)
  local counter = key()
  local count = tonumber(redis.call("GET", counter) or 0)
  return count < limit.tokens, count, 0, function()
    if redis.call("INCR", counter) == 1 then
      redis.call("PEXPIRE", counter, whole(limit.window + slack))
    end
  end
end
