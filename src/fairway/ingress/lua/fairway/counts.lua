-- Requests counted by Ingress, backend and status, and how long they took.
local balancer = require "fairway.balancer"

local shared = ngx.shared.fairway_counts
local _M = {}
local BOUNDS = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10 }

function _M.log()
    local status = tonumber(ngx.var.status) or 0
    local seconds = tonumber(ngx.var.request_time) or 0
    balancer.done(ngx.ctx, tonumber(ngx.var.upstream_response_time), status == 502 or status == 504)
    local labels = ngx.var.fairway_ingress .. "|" .. ngx.var.fairway_backend
    shared:incr("requests|" .. labels .. "|" .. status, 1, 0)
    shared:incr("seconds|" .. labels, seconds, 0)
    shared:incr("count|" .. labels, 1, 0)
    for _, bound in ipairs(BOUNDS) do
        if seconds <= bound then
            shared:incr("bucket|" .. labels .. "|" .. bound, 1, 0)
            break
        end
    end
    shared:incr("bytes|" .. labels, tonumber(ngx.var.bytes_sent) or 0, 0)
end

-- One line for each count: its key and its value. The controller makes metrics of them.
function _M.text()
    local lines = {}
    for _, key in ipairs(shared:get_keys(0)) do
        lines[#lines + 1] = key .. " " .. tostring(shared:get(key) or 0)
    end
    return table.concat(lines, "\n")
end

return _M
