import { prepared, type Tx } from "./database.ts";

const CLAIM = prepared(
  "claim_installation",
  `insert into installation (id, key_check) values (1, $1) on conflict (id) do update set key_check = installation.key_check
   returning key_check as "keyCheck"`,
);

/** What the key of the credentials is told apart by in this database: `keyCheck`, if it is the first one seen. */
export async function claimInstallation(tx: Tx, keyCheck: Buffer) {
  return (await tx.run<{ keyCheck: Buffer }>(CLAIM, [keyCheck])).rows[0]!.keyCheck;
}
