import { createApiKey } from "../auth/api-keys.ts";
import { PERMISSIONS, type Permission } from "../domain/permission.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, EXIT, Failure, moment, text, UsageError, withDatabase } from "./command.ts";
import { isUuid } from "./merchant.ts";

export const keyCreate: Command = {
  name: "key create",
  usage: `--merchant M --permissions P,… [--expires D] [--note N] [--json]
  permissions: ${PERMISSIONS.join(" ")}`,
  summary: "Make an API key; it is shown once",
  options: {
    merchant: { type: "string" },
    permissions: { type: "string" },
    expires: { type: "string" },
    note: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["dunlin key create --merchant 0198… --permissions read:recovery_actions --expires 2027-12-31"],
  async run(context, values) {
    const merchantId = text(values, "merchant");
    const expiresAt = moment(values, "expires");
    const note = text(values, "note");
    if (merchantId === undefined) throw new UsageError("--merchant is missing.");
    const permissions = permissionsOf(text(values, "permissions"));
    return withDatabase(context, async ({ db, ports }) => {
      if (!isUuid(merchantId) || !(await findMerchant(db, merchantId)))
        throw new Failure(`There is no merchant ${merchantId}. "dunlin merchant list" shows them.`);
      if (expiresAt && expiresAt <= ports.now()) throw new UsageError("--expires lies in the past.");
      const key = await createApiKey(db, { merchantId, permissions, expiresAt, note }, ports);
      if (values.json) context.print(JSON.stringify({ keyId: key.keyId, apiKey: key.apiKey }));
      else {
        context.print(`key      ${key.keyId}`);
        context.print(`API key  ${key.apiKey}   (shown once)`);
      }
      return EXIT.ok;
    });
  },
};

function permissionsOf(list: string | undefined): Permission[] {
  if (list === undefined) throw new UsageError(`--permissions is missing: ${PERMISSIONS.join(",")}`);
  return list.split(",").map((name) => {
    const permission = PERMISSIONS.find((known) => known === name.trim());
    if (!permission) throw new UsageError(`"${name}" is not a permission. Write some of ${PERMISSIONS.join(",")}.`);
    return permission;
  });
}
