-- KEYS[1] the turn; ARGV[1] token, ARGV[2] milliseconds
-- Returns 1 where the turn is the token's now, else 0.
if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then
  redis.call('DEL', KEYS[1]) -- it began before the clock was set back
end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0
