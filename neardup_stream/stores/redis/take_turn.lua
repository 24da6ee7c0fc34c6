-- KEYS[1] the turn; ARGV[1] token, ARGV[2] milliseconds
-- Returns 1 where the turn is the token's now, else 0. Behind the token stands when the turn ends, in milliseconds of
-- the server's clock. One that would last for over a second longer than it may began before the clock was set back,
-- and is over.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local turn = redis.call('GET', KEYS[1])
if turn and string.sub(turn, 1, #ARGV[1]) == ARGV[1] then
  return 1
end
if turn and (tonumber(string.sub(turn, #ARGV[1] + 1)) or 0) <= now + ARGV[2] + 1000 then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1] .. string.format('%.0f', now + ARGV[2]), 'PX', ARGV[2])
return 1
