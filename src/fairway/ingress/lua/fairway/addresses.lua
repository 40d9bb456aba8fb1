-- Whether an address lies in one of some ranges. Ranges were checked by the controller.
local bit = require "bit"

local _M = {}
local parsed = {}

local function octets4(text)
    local a, b, c, d = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
    if a then
        return { tonumber(a), tonumber(b), tonumber(c), tonumber(d) }
    end
end

local function groups(text)
    local found = {}
    if text ~= "" then
        for group in (text .. ":"):gmatch("([^:]*):") do
            local four = octets4(group)
            if four then
                found[#found + 1] = four[1] * 256 + four[2]
                found[#found + 1] = four[3] * 256 + four[4]
            else
                found[#found + 1] = tonumber(group, 16) or 0
            end
        end
    end
    return found
end

local function octets6(text)
    local front, back = text:match("^(.-)::(.*)$")
    local first, last = groups(front or text), groups(back or "")
    local bytes = {}
    local function put(value)
        bytes[#bytes + 1] = math.floor(value / 256)
        bytes[#bytes + 1] = value % 256
    end
    for _, value in ipairs(first) do put(value) end
    for _ = 1, 8 - #first - #last do put(0) end
    for _, value in ipairs(last) do put(value) end
    return bytes
end

local function octets(text)
    return octets4(text) or octets6(text)
end

local function range(text)
    local known = parsed[text]
    if not known then
        local address, length = text:match("^(.-)/(%d+)$")
        known = { bytes = octets(address or text), length = tonumber(length) }
        known.length = known.length or #known.bytes * 8
        parsed[text] = known
    end
    return known
end

local function inside(bytes, wanted)
    if #bytes ~= #wanted.bytes then
        return false
    end
    local left = wanted.length
    for index = 1, #bytes do
        if left <= 0 then
            return true
        end
        local mask = left >= 8 and 255 or bit.band(bit.lshift(255, 8 - left), 255)
        if bit.band(bytes[index], mask) ~= bit.band(wanted.bytes[index], mask) then
            return false
        end
        left = left - 8
    end
    return true
end

function _M.among(address, ranges)
    local bytes = octets(address)
    for _, text in ipairs(ranges) do
        if inside(bytes, range(text)) then
            return true
        end
    end
    return false
end

return _M
