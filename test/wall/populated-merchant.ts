import { randomBytes } from "node:crypto";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { createInvite } from "../../src/auth/invites.ts";
import type { TestConsole } from "../../src/console/console.fixture.ts";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../../src/domain/person.ts";
import { prepared } from "../../src/postgres/database.ts";
import { writeAuditEntry } from "../../src/tables/audit-log.ts";
import { createPorts, createShop, runMerchantLife } from "./merchant-life.ts";

/** Creates a merchant with the same ids as the other, and with data for every page. */
export async function createPopulatedMerchant(at: TestConsole, prefix: string) {
  const ports = { ...createPorts(prefix), randomBytes };
  const merchant = await createShop(at.db, ports);
  await runMerchantLife(at.db, merchant, ports, "cus");
  await createApiKey(at.db, { merchantId: merchant.id, permissions: PERMISSIONS, note: `of ${prefix}` }, ports);
  const invite = { role: "viewer", email: `${prefix}@example.com`, lifeMs: 1e12, createdBy: null } as const;
  const { id } = await createInvite(at.db, merchant.id, invite, { ...at.ports, newId: ports.newId });
  await writeAuditEntry(at.db, merchant.id, COMMAND_LINE_ACTOR, { operation: "member.invited", object: prefix }, ports);
  await at.db.run(EXHAUST_DELIVERIES, [merchant.id, ports.now()]);
  at.clock.serviceMs = ports.now().getTime() + 60_000;
  return { merchant, invite: id };
}
const EXHAUST_DELIVERIES = prepared(
  "test_exhaust",
  `with waiting as (delete from deliveries where merchant_id = $1 returning event_id, round, attempts_max)
   insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends, status)
   select $1, event_id, round, attempts_max, $2, $2, 5, 'exhausted', 500 from waiting`,
);
