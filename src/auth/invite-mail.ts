import type { Role } from "../domain/role.ts";
import type { Mail } from "./mail.ts";

/** What somebody gets who is invited. `by`: who invites, as the audit log names people; `link`: with the token. */
export function buildInviteMail(to: string, merchant: string, role: Role, by: string, link: string): Mail {
  return {
    to,
    subject: `Join ${merchant} on Dunlin`,
    text: `${by} invites you to the Dunlin console of ${merchant}, as ${role}.

Follow this link within 7 days. It works once, and for ${to} alone:
${link}

If you did not expect this, there is nothing to do.
`,
  };
}
