-- Requests counted by Ingress, backend and status, and how long they took. Each worker counts by itself and
-- adds what it has to the common counts once a second.
local balancer = require "fairway.balancer"
local requests = require "fairway.requests"

local shared = ngx.shared.fairway_counts
local _M = {}
local BOUNDS = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 }

local own = {}
local fresh = false
local nowhere = { route = { ingress = "" } }

local function flush()
    if not fresh then
        return
    end
    fresh = false
    local counted = own
    own = {}
    for ingress, backends in pairs(counted) do
        for name, each in pairs(backends) do
            local labels = ingress .. "|" .. name
            for _, key in ipairs({ "count", "seconds" }) do
                shared:incr(key .. "|" .. labels, each[key], 0)
            end
            for status, value in pairs(each.requests) do
                shared:incr("requests|" .. labels .. "|" .. status, value, 0)
            end
            for bound, value in pairs(each.buckets) do
                shared:incr("bucket|" .. labels .. "|" .. bound, value, 0)
            end
        end
    end
end

local function of(ingress, name)
    local backends = own[ingress]
    if not backends then
        backends = {}
        own[ingress] = backends
    end
    local each = backends[name]
    if not each then
        each = { count = 0, seconds = 0, requests = {}, buckets = {} }
        backends[name] = each
    end
    return each
end

local function bound_of(seconds)
    for index = 1, #BOUNDS do
        if seconds <= BOUNDS[index] then
            return BOUNDS[index]
        end
    end
end

local function add(counts, key)
    counts[key] = (counts[key] or 0) + 1
end

function _M.log()
    local request = requests.finish() or nowhere
    local status, seconds = ngx.status, ngx.now() - ngx.req.start_time()
    if request.endpoint then
        balancer.done(request, status == 502 or status == 504)
    end
    fresh = true
    local each = of(request.route.ingress, request.name or "")
    each.count, each.seconds = each.count + 1, each.seconds + seconds
    add(each.requests, status)
    local bound = bound_of(seconds)
    if bound then
        add(each.buckets, bound)
    end
end

function _M.start()
    ngx.timer.every(1, flush)
end

-- One line for each count: its key and its value. The controller makes metrics of them.
function _M.text()
    flush()
    local lines = {}
    for _, key in ipairs(shared:get_keys(0)) do
        lines[#lines + 1] = key .. " " .. tostring(shared:get(key) or 0)
    end
    return table.concat(lines, "\n")
end

return _M
