import type { Role } from '../../session/session.svelte';

const rights: Record<Role, { sees: string; does: string }> = {
  viewer: {
    sees: 'Everything but the audit log, webhooks and tokens.',
    does: 'Nothing. It may plan and test a policy or an inventory.',
  },
  'network-engineer': {
    sees: 'What a viewer sees.',
    does: 'Endpoints, pools and their members, policy, changes on trial, reservations and static hosts.',
  },
  operator: {
    sees: 'Also the audit log and webhooks.',
    does: 'Also cloudlets, devices, VMs, moves, leases, inventory, images, tunnels, held routes and webhooks.',
  },
  admin: {
    sees: 'Everything.',
    does: 'Everything: also tokens, and consents in the name of tenants.',
  },
  tenant: {
    sees: 'The endpoints of its own tenant alone: addresses, leases, reservations, filters and VMs.',
    does: 'Consents to these endpoints, and their static hosts. It is none of the steps above.',
  },
};

export const en = {
  title: 'Access',
  view: 'View',
  views: { tokens: 'Tokens', consents: 'Consents', roles: 'Roles' },
  leads: {
    tokens: 'Credentials of users and programs for the API and these pages.',
    consents:
      'Endpoints that belong to tenants, and whether their tenants have consented to what the policy does with them.',
    roles: 'Each role may do all that the one before it may; a tenant’s is apart.',
  },
  refused: 'Tokens take the role admin.',
  refusedHint: 'An admin makes tokens and gives roles. Consents and the explanation of roles are yours to see.',
  search: 'Search',
  state: 'State',
  any: 'Any',
  nothing: 'Nothing fits the search.',
  tokens: {
    searchHint: 'Name, role, tenant',
    none: 'There is no token.',
    noneHint: 'Make one for each user and each program, so that it is known who did what.',
    columns: {
      name: 'Name',
      role: 'Role',
      tenant: 'Tenant',
      state: 'State',
      made: 'Made',
      ends: 'Ends',
      used: 'Used',
      act: 'Action',
    },
    states: { good: 'good', expired: 'expired', revoked: 'revoked' },
    yours: 'yours',
    unused: 'never',
    add: 'Make a token …',
    revoke: 'Revoke …',
    sure: (name: string) => `Revoke ${name}?`,
    sureText: 'It opens nothing from now on, at all controllers; sessions and streams that it has opened end.',
    own: 'You have signed in by this token: your session ends with it.',
    really: 'Revoke it',
  },
  make: {
    title: 'Make a token',
    name: 'Name',
    nameHint: 'Its user’s or program’s. A name is given once, also after its token is gone.',
    nameWrong: 'Up to 63 lower-case letters, digits and hyphens, no hyphen first or last.',
    role: 'Role',
    tenant: 'Tenant',
    tenantHint: 'Whose endpoints it is for.',
    tenantWrong: 'Name the tenant, as its endpoints do.',
    days: 'Days that it is good for',
    daysWrong: 'A number from 1 to 366.',
    make: 'Make it',
    done: (name: string) => `Token ${name} is made.`,
    once: 'This is the only time that its secret is shown. The controller keeps no copy; whoever has it is its user.',
    secret: 'Secret',
    gone: 'The secret was shown before, and is not shown again. Revoke the token, and make another.',
    close: 'I have it',
  },
  consents: {
    searchHint: 'Tenant, endpoint, cloudlet',
    none: 'No endpoint belongs to a tenant.',
    noneHint: 'weft endpoint set c1-lan --tenant acme gives one away.',
    columns: {
      tenant: 'Tenant',
      endpoint: 'Endpoint',
      cloudlet: 'Cloudlet',
      state: 'Consent',
      by: 'By',
      at: 'Since',
      pools: 'Pools',
    },
    states: { unasked: 'not asked for', given: 'given', waiting: 'waits for the tenant', withdrawn: 'withdrawn' },
    note: 'Tenants consent on their own page. An endpoint that waits, or whose consent is withdrawn, is in no pool.',
  },
  roles: {
    you: (name: string, role: string) => `You are ${name}, with the role ${role}.`,
    until: (when: string) => `That ends ${when}.`,
    columns: { role: 'Role', sees: 'Sees', does: 'Changes' },
    yours: 'yours',
    rights,
    oidc: 'Users who sign in at an OIDC issuer get their roles from its claims (WEFT_OIDC).',
  },
};

export type Texts = typeof en;
