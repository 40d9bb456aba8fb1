-- How often a client may come: a bucket that leaks at a steady rate, shared by all workers.
local shared = ngx.shared.fairway_rates

local _M = {}

function _M.allow(key, rate, burst)
    local now = ngx.now()
    local text = shared:get(key)
    local level, last = 0, now
    if text then
        local a, b = text:match("^(%S+) (%S+)$")
        level, last = tonumber(a) or 0, tonumber(b) or now
    end
    level = math.max(0, level - (now - last) * rate)
    if level + 1 > (burst or 1) + 1 then
        return false
    end
    shared:set(key, string.format("%.4f %.3f", level + 1, now), (burst or 1) / rate + 10)
    return true
end

return _M
