-- KEYS[1] the turn; ARGV[1] token, ARGV[2] milliseconds
-- Returns 1 where the turn is the token's now, else 0.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0
