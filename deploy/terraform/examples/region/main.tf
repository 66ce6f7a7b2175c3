# A region of two towns: cloudlets, their LANs, a device with the VM that works for it, and a policy.
terraform {
  required_providers {
    weft = {
      source = "weft.internal/weft/weft"
    }
  }
}

# WEFT_URL, WEFT_TOKEN_FILE and WEFT_ROOT_FILE say where the controller is and who you are.
provider "weft" {}

locals {
  towns = {
    turin = { vtep = "198.51.100.1", prefix = "10.1.0.0/24", at = [45.07, 7.69] }
    milan = { vtep = "198.51.100.2", prefix = "10.2.0.0/24", at = [45.46, 9.19] }
  }
}

resource "weft_cloudlet" "town" {
  for_each  = local.towns
  name      = each.key
  pe        = "vpls"
  vtep      = each.value.vtep
  labels    = { tier = "edge" }
  latitude  = each.value.at[0]
  longitude = each.value.at[1]
}

resource "weft_endpoint" "lan" {
  for_each = local.towns
  name     = "${each.key}-lan"
  cloudlet = weft_cloudlet.town[each.key].id
  prefix   = each.value.prefix
  ports    = ["md*", "vm*"]
}

resource "weft_device" "scanner" {
  name = "scanner"
  mac  = "02:00:5e:00:00:01"
}

resource "weft_vm" "scanner" {
  name     = "scanner-vm"
  device   = weft_device.scanner.id
  endpoint = weft_endpoint.lan["turin"].id
  image    = "debian"
  memory   = 512 * 1024 * 1024
  disk     = { base = "debian", bytes = 2 * 1024 * 1024 * 1024 }
}

# The ids are known once the endpoints are there, and the policy is planned then.
resource "weft_policy" "region" {
  text = yamlencode({
    apiVersion = "weft/v1"
    vcps       = { clinics = { members = sort([for lan in weft_endpoint.lan : lan.id]) } }
  })
}

# Each agent enrols with its own, once: it is the content of `token_file` in its agent.toml.
output "enrolment_tokens" {
  value     = { for name, town in weft_cloudlet.town : name => town.enrolment_token }
  sensitive = true
}
