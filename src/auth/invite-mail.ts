import type { Role } from "../domain/role.ts";
import type { Mail } from "./mail.ts";

export function buildInviteMail(to: string, merchant: string, role: Role, inviter: string, link: string): Mail {
  return {
    to,
    subject: `Join ${merchant} on Dunlin`,
    text: `${inviter} invites you to the Dunlin console of ${merchant}, as ${role}.

Open this link within 7 days. It works once, and only for ${to}:
${link}

If you did not expect this invitation, ignore this e-mail.
`,
  };
}
