import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInvite, SETUP_INVITE_LIFETIME_MS } from "../auth/invites.ts";
import type { Settings } from "../config/config.ts";
import { writeSecretFile } from "../process/open-store.ts";
import type { RunningService } from "../start.ts";
import { forgetSetupInvites } from "../tables/invites.ts";
import { listMerchants } from "../tables/merchants.ts";
import { hasPeople } from "../tables/people.ts";
import type { CommandContext } from "./command.ts";

/** How the first user becomes an owner; null if a person exists. Without a terminal the link goes to a file. */
export async function setupInstructions(
  { isTerminal }: CommandContext,
  { store }: RunningService,
  settings: Settings,
): Promise<string | null> {
  const { db, ports } = store;
  const path = join(settings.dataDir, "setup-link");
  rmSync(path, { force: true });
  const token = await db.transaction(async (tx) => {
    const [first] = await listMerchants(tx);
    if (!first || (await hasPeople(tx))) return null;
    // A log may contain an earlier start's link.
    await forgetSetupInvites(tx, first.id);
    return (
      await createInvite(
        tx,
        first.id,
        { role: "owner", email: null, lifeMs: SETUP_INVITE_LIFETIME_MS, createdBy: null },
        ports,
      )
    ).token;
  });
  if (token === null) return null;
  const link = `${settings.authUrl}/setup?t=${token}`;
  if (isTerminal) return `${link}   (once, within an hour)`;
  writeSecretFile(path, link);
  return `follow the link in ${path} within an hour`;
}
