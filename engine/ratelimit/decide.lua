-- ARGV: now (Unix ms), then per request algorithm, tokens, window (ms), refill,
-- and the two texts to count (allowed, refused; empty: count nothing).
-- KEYS: per request those of its algorithm, then the two to count under.
-- Reply: per request allowed (0 or 1) and the two numbers of its state before.
local now, used = tonumber(ARGV[1]), 0
local function key()
  used = used + 1
  return KEYS[used]
end
local reply, charges, counts, pass = {}, {}, {}, true
for a = 2, #ARGV, 6 do
  local limit = {tokens = tonumber(ARGV[a + 1]), window = tonumber(ARGV[a + 2]), refill = tonumber(ARGV[a + 3])}
  local allowed, x, y, charge = algorithms[ARGV[a]](limit, now, key)
  pass = pass and allowed
  charges[#charges + 1] = charge
  reply[#reply + 1] = allowed and 1 or 0
  reply[#reply + 1] = x
  reply[#reply + 1] = y
  if ARGV[a + 4] ~= "" then
    local outcome = allowed and ARGV[a + 4] or ARGV[a + 5]
    counts[#counts + 1] = {key(), outcome}
    counts[#counts + 1] = {key(), outcome}
  end
end
for _, charge in ipairs(charges) do
  if pass then charge() end
end
for _, count in ipairs(counts) do
  redis.call("ZINCRBY", count[1], 1, count[2])
  redis.call("PEXPIRE", count[1], whole(kept))
end
return reply
