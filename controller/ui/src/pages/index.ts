/** All pages, in the order of the navigation. A new page is a folder and a line here (controller/ui/README.md). */

import { access } from './access/pages';
import { activity } from './activity/pages';
import { addresses } from './addresses/pages';
import { cloudlets } from './cloudlets/pages';
import type { PageDefinition } from './definition';
import { lans } from './lans/pages';
import { lookingGlass } from './looking-glass/pages';
import { map } from './map/pages';
import { moves } from './moves/pages';
import { neighbours } from './neighbours/pages';
import { overview } from './overview/pages';
import { policy } from './policy/pages';
import { pools } from './pools/pages';
import { tunnels } from './tunnels/pages';
import { ownVms, vms } from './vms/pages';

export const PAGES: readonly PageDefinition[] = [
  ...overview,
  ...map,
  ...cloudlets,
  ...pools,
  ...addresses,
  ...policy,
  ...activity,
  ...access,
  ...moves,
  ...vms,
  ...lookingGlass,
  ...neighbours,
  ...tunnels,
  ...lans,
  ...ownVms,
];
