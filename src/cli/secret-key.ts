import { resealAll } from "../merchants/reseal.ts";
import { openDatabase } from "../postgres/database.ts";
import { countOtherSessions } from "../postgres/database-dump.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { forgetKeys } from "../tables/installation.ts";
import { listMerchants } from "../tables/merchants.ts";
import { type Command, CommandFailure, EXIT_CODES, withDatabase } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";

const LISTED_SECRETS_MAX = 10;

/** `dunlin secret-key rotate`: encrypts everything of an older secret key with the newest. */
export const secretKeyRotate: Command = {
  name: "secret-key rotate",
  usage: `
  Needs the new key and the old one, newest first: DUNLIN_SECRET_KEY=NEW,OLD, or both in secret.key, each on a line. Every process needs them, too.`,
  summary: "Encrypt webhook credentials and signing secrets by a new secret key, while the service runs",
  options: {},
  positionals: [],
  examples: ['DUNLIN_SECRET_KEY="$NEW,$OLD" npx dunlin secret-key rotate'],
  async run(context) {
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const show = createProgressLine(context);
      let merchants = 0;
      const done = await resealAll(db, secretKeys, ports, () => show(`${++merchants} merchants`));
      const { length } = done.unreadable;
      const names = done.unreadable.slice(0, LISTED_SECRETS_MAX).map(({ id, name }) => `${name} (${id})`);
      if (length > LISTED_SECRETS_MAX) names.push(`${length - LISTED_SECRETS_MAX} more`);
      if (length > 0)
        throw new CommandFailure(
          `no key opens the credential or signing secret of ${names.join(", ")}. Set it again: npx dunlin merchant set M --bearer-file F, or npx dunlin webhook secret rotate M. Then run this again; until then every process needs all keys.`,
        );
      context.print(`${done.changed} encrypted again; all ${done.boxes} open with the first key alone`);
      context.print(
        secretKeys.length === 1
          ? "There is one key. To change it, put a new one before it and a comma between them; docs/guides/operating.md has the steps."
          : "Page tokens of the old key hold while it is listed: leave it for a day. Then keep the first key alone, and restart every process.",
      );
      return EXIT_CODES.ok;
    });
  },
};

/** `dunlin secret-key reset`: a database whose secret key is lost takes another. */
export const secretKeyReset: Command = {
  name: "secret-key reset",
  usage: `[--yes]
  --yes  forgets the lost key; without it the command changes nothing`,
  summary: "Let the database take another secret key when the old one is lost, and list what to set again",
  options: { yes: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin secret-key reset --yes"],
  async run(context, values) {
    const server = await context.server();
    try {
      if ((await countOtherSessions(server.address)) > server.sessions)
        throw new CommandFailure(
          "the service is running, so its secret key is not lost. To reset it all the same, stop it.",
        );
      if (values.yes !== true)
        throw new CommandFailure(
          "Nothing was changed. The credentials and signing secrets of webhooks can never be read again. To reset the key, repeat the command with --yes.",
        );
      const owner = openDatabase(roleAddresses(server.address, false).owner, 1, () => {});
      try {
        const merchants = await listMerchants(owner);
        await forgetKeys(owner);
        context.print("The database takes the secret key of the next start. After it, set again:");
        for (const { id, name, webhookAuth, webhookCredential, webhookSecret } of merchants) {
          if (webhookCredential)
            context.print(`  npx dunlin merchant set ${id} --${webhookAuth}-file FILE   (${name})`);
          if (webhookSecret)
            context.print(
              `  npx dunlin webhook secret remove ${id} && npx dunlin webhook secret rotate ${id}   (${name})`,
            );
        }
      } finally {
        await owner.close();
      }
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};
