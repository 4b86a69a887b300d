import { createHmac, timingSafeEqual } from "node:crypto";

/** Links by which a customer ends the mails. They need no sign-in and name no address. */
export interface OptOutLinks {
  linkFor(customerId: string): string;
  /** Returns the customer of a link's path; null if it was made by somebody else. */
  read(path: string): string | null;
}

const PATH = "/unsubscribe/";

/** @param secrets  known to the connector only; the first one signs, and all are accepted */
export function createOptOutLinks(publicUrl: string, secrets: readonly [string, ...string[]]): OptOutLinks {
  const sign = (customerId: string, secret = secrets[0]) =>
    createHmac("sha256", secret).update(`unsubscribe ${customerId}`).digest("base64url");
  const base = publicUrl.replace(/\/$/, "");
  return {
    linkFor: (customerId) => `${base}${PATH}${Buffer.from(customerId).toString("base64url")}.${sign(customerId)}`,
    read(path) {
      const [, encoded, signature] = /\/unsubscribe\/([\w-]+)\.([\w-]+)$/.exec(path) ?? [];
      if (encoded === undefined || signature === undefined) return null;
      const customerId = Buffer.from(encoded, "base64url").toString("utf8");
      const given = Buffer.from(signature);
      const isRight = secrets.some((secret) => {
        const right = Buffer.from(sign(customerId, secret));
        return given.length === right.length && timingSafeEqual(given, right);
      });
      return isRight ? customerId : null;
    },
  };
}

/** A page with one button: mail programs open links by themselves, so only the button ends the mails. */
export const optOutPage = (isDone: boolean): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment reminders</title><style>body{font:16px/1.5 sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem}</style></head>
<body>${
  isDone
    ? "<h1>Done</h1><p>You will get no more reminders by mail about failed payments.</p>"
    : '<h1>Payment reminders</h1><p>No longer get mails about failed payments?</p><form method="post"><button>Stop the mails</button></form>'
}</body></html>
`;
