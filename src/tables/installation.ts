import { createHmac } from "node:crypto";
import { prepared, type Tx } from "../postgres/database.ts";

const CLAIM = prepared(
  "claim_installation",
  `insert into installation (id, key_check) values (1, $1) on conflict (id) do update set key_check = installation.key_check
   returning key_check as "keyCheck"`,
);

/** Identifies a secret key without revealing it. */
export const keyCheck = (secretKey: Buffer): Buffer => createHmac("sha256", secretKey).update("installation").digest();

const SET = prepared("set_key_checks", "update installation set key_check = $1 where id = 1");

/** Several during a rotation. */
export async function setKeyChecks(tx: Tx, checks: readonly Buffer[]) {
  await tx.run(SET, [Buffer.concat(checks)]);
}

const FORGET = prepared("forget_keys", "delete from installation");

/** The next process that starts sets its own. */
export async function forgetKeys(tx: Tx) {
  await tx.run(FORGET);
}

const CHECK_BYTES = 32;

/** Stores `check` if there was none. */
export async function claimInstallation(tx: Tx, check: Buffer): Promise<Buffer[]> {
  const stored = (await tx.run<{ keyCheck: Buffer }>(CLAIM, [check])).rows[0]!.keyCheck;
  return Array.from({ length: stored.length / CHECK_BYTES }, (_, at) =>
    stored.subarray(at * CHECK_BYTES, (at + 1) * CHECK_BYTES),
  );
}
