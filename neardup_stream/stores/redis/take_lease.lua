-- KEYS[1] the lease; ARGV[1] its holder, ARGV[2] how often it was renewed, ARGV[3] milliseconds
-- Returns nothing where the lease is the holder's now, else what another holder has written. Behind both stands when
-- the lease ends, in milliseconds of the server's clock. One that would last for over a second longer than it may is
-- from before the clock was set back, and is over.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('GET', KEYS[1])
local own = ARGV[1] .. ' '
if held and string.sub(held, 1, #own) ~= own and tonumber(string.match(held, ' (%d+)$') or 0) <= now + ARGV[3] + 1000 then
  return held
end
redis.call('SET', KEYS[1], own .. ARGV[2] .. ' ' .. string.format('%.0f', now + ARGV[3]), 'PX', ARGV[3])
return false
