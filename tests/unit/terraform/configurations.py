"""Configurations for OpenTofu: a region of three cloudlets, and a policy and an inventory of the same kind."""

REGION = """
resource "weft_cloudlet" "pe" {
  for_each  = { c1 = "192.0.2.1", c2 = "192.0.2.2" }
  name      = each.key
  pe        = "evpn"
  vtep      = each.value
  unmanaged = true
  labels    = { city = "turin" }
}

resource "weft_cloudlet" "c3" {
  name      = "c3"
  pe        = "vpls"
  vtep      = "192.0.2.3"
  latitude  = 45.07
  longitude = 7.69
}

resource "weft_endpoint" "lan" {
  for_each = { c1 = "10.1.0.0/24", c2 = "10.2.0.0/24" }
  name     = "${each.key}-lan"
  cloudlet = weft_cloudlet.pe[each.key].id
  prefix   = each.value
  prefix6  = each.key == "c1" ? "2001:DB8:1::/64" : null
  ports    = ["md*", "vm*"]
}

resource "weft_endpoint" "c3" {
  name       = "c3-lan"
  cloudlet   = weft_cloudlet.c3.id
  prefix     = "10.3.0.0/24"
  max_routes = 100
}

resource "weft_vcp" "blue" {
  name        = "blue"
  flavour     = "evpn"
  description = "Clinics"
  members     = [for lan in weft_endpoint.lan : lan.id]
}

resource "weft_device" "m1" {
  name = "m1"
  mac  = "02-00-5E-00-00-01"
}

resource "weft_device" "m2" {
  name = "m2"
  mac  = "02:00:5e:00:00:11"
  vm   = { mac = "0200.5e00.0012" }
}

resource "weft_vm" "web" {
  name     = "web"
  device   = weft_device.m1.id
  endpoint = weft_endpoint.c3.id
  image    = "debian"
  memory   = 512 * 1024 * 1024
  disk     = { base = "debian", bytes = 1024 * 1024 * 1024 }
  options  = { cmdline = "quiet" }
  check    = "tcp:80"
}
"""

PAIR = """
resource "weft_cloudlet" "pe" {
  for_each  = { c1 = "192.0.2.1", c2 = "192.0.2.2" }
  name      = each.key
  pe        = "evpn"
  vtep      = each.value
  unmanaged = true
}

resource "weft_endpoint" "lan" {
  for_each = { c1 = "10.1.0.0/24", c2 = "10.2.0.0/24" }
  name     = "${each.key}-lan"
  cloudlet = weft_cloudlet.pe[each.key].id
  prefix   = each.value
}
"""

WRITTEN = """
resource "weft_policy" "this" {
  text = yamlencode({
    apiVersion = "weft/v1"
    vcps       = { blue = { flavour = "evpn", members = sort([for lan in weft_endpoint.lan : lan.id]) } }
  })
}
"""
"""A policy that names endpoints by their ids, so that it is planned once they are there."""

FILED = """
resource "weft_policy" "this" {
  text     = file("pools.yaml")
  filename = "pools.yaml"
}
"""

BOTH = "apiVersion: weft/v1\nvcps:\n  blue: {flavour: evpn, members: [c1-lan, c2-lan]}\n"
ONE = "apiVersion: weft/v1\nvcps:\n  blue: {flavour: evpn, members: [c1-lan]}\n"

INVENTORY = """
resource "weft_inventory" "this" {
  text = file("towns.yaml")
}
"""

TOWNS = """apiVersion: weft/inventory/v1
cloudlets:
  c1: {pe: vpls, vtep: 192.0.2.1}
endpoints:
  c1-lan: {cloudlet: c1, prefix: 10.1.0.0/24}
"""
