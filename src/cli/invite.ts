import { createInvite, INVITE_LIFETIME_MS } from "../auth/invites.ts";
import { isEmail, normalizeEmail } from "../auth/sign-in.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { ROLES } from "../domain/role.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { type Command, EXIT_CODES, textOption, UsageError, withDatabase } from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

export const invite: Command = {
  name: "invite",
  usage: `[--merchant M] [--role R] [--email E] [--json]
  --merchant M             the merchant; not needed if there is only one
  --role R                 ${ROLES.join(" | ")} (owner)
  --email E                only this address can use the link`,
  summary: "Print a one-time link to join a merchant's console, valid for 7 days",
  options: {
    merchant: { type: "string" },
    role: { type: "string" },
    email: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin invite", "npx dunlin invite --role viewer --email ada@example.com"],
  async run(context, values) {
    const named = textOption(values, "role") ?? "owner";
    const role = ROLES.find((each) => each === named);
    if (!role) throw new UsageError(`--role takes one of ${ROLES.join(", ")}, not "${named}".`);
    const given = textOption(values, "email");
    const email = given === undefined ? null : normalizeEmail(given);
    if (email !== null && !isEmail(email)) throw new UsageError(`"${given}" is not an e-mail address.`);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const token = await db.transaction(async (tx) => {
        const created = await createInvite(
          tx,
          merchantId,
          { role, email, lifeMs: INVITE_LIFETIME_MS, createdBy: null },
          ports,
        );
        const details = { role, invite: created.id };
        await writeAuditEntry(
          tx,
          merchantId,
          COMMAND_LINE_ACTOR,
          { operation: "member.invited", object: email ?? "a link", details },
          ports,
        );
        return created.token;
      });
      const link = `${context.settings.authUrl}/join?t=${token}`;
      context.print(values.json ? JSON.stringify({ merchantId, role, link }) : link);
      return EXIT_CODES.ok;
    });
  },
};
