import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { makeMerchant, SECRET_KEYS } from "../delivery/deliverer.fixture.ts";
import { claimInstallation, keyCheck } from "../store/installation.ts";
import { seal } from "../store/secret-box.ts";
import { printed } from "./context.fixture.ts";
import { secretKeyRotate } from "./secret-key.ts";

test("a rotation names the merchants whose credential no key opens, and every key stays in use until it is set again", async (t) => {
  const { db, drop } = await testDatabase();
  t.after(drop);
  const former = keyCheck(randomBytes(32));
  await claimInstallation(db, former);
  await makeMerchant(db);
  const webhookCredential = seal([randomBytes(32)], randomBytes(12), "t");
  const lost = await makeMerchant(db, { name: "Lost Shop", webhookCredential });
  const words = `no key opens the credential or signing secret of Lost Shop \\(${lost.id}\\)\\. Set it again`;
  await assert.rejects(printed(db, secretKeyRotate, {}, []), new RegExp(words));
  assert.deepEqual(await claimInstallation(db, former), [former, keyCheck(SECRET_KEYS[0]!)]);
});
