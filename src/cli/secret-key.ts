import { resealAll } from "../merchants/reseal.ts";
import { openDatabase } from "../postgres/database.ts";
import { countOtherSessions } from "../postgres/database-dump.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { listChatUrls } from "../tables/chat-webhooks.ts";
import { listConnections } from "../tables/connections.ts";
import { forgetKeys } from "../tables/installation.ts";
import { listMerchants } from "../tables/merchants.ts";
import { type Command, CommandFailure, EXIT_CODES, withDatabase } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";

const LISTED_SECRETS_MAX = 10;

export const secretKeyRotate: Command = {
  name: "secret-key rotate",
  usage: `
  Set both keys first, the new one before the old one: DUNLIN_SECRET_KEY=NEW,OLD, or one per line in secret.key. Every process needs both.`,
  summary: "Re-encrypt webhook credentials and signing secrets with a new secret key, while the service runs",
  options: {},
  positionals: [],
  examples: ['DUNLIN_SECRET_KEY="$NEW,$OLD" npx dunlin secret-key rotate'],
  async run(context) {
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const show = createProgressLine(context);
      let merchants = 0;
      const result = await resealAll(db, secretKeys, ports, () => show(`${++merchants} merchants`));
      const { length } = result.unreadable;
      const names = result.unreadable.slice(0, LISTED_SECRETS_MAX).map(({ id, name }) => `${name} (${id})`);
      if (length > LISTED_SECRETS_MAX) names.push(`${length - LISTED_SECRETS_MAX} more`);
      if (length > 0)
        throw new CommandFailure(
          `No key can decrypt the credential or signing secret of ${names.join(", ")}. Set it again: npx dunlin merchant set M --bearer-file F, or npx dunlin webhook secret rotate M. Then repeat this command. Until then, every process needs all keys.`,
        );
      const connections = result.unreadableConnections.map(
        ({ name, merchantId }) => `${name} (merchant ${merchantId})`,
      );
      if (connections.length > 0)
        throw new CommandFailure(
          `No key can decrypt the keys of these connections: ${connections.join(", ")}. Give them again: npx dunlin connect stripe --merchant M --stripe-key-file F. Then repeat this command. Until then, every process needs all keys.`,
        );
      if (result.unreadableChats.length > 0)
        throw new CommandFailure(
          `No key can decrypt the chat URL of these merchants: ${result.unreadableChats.join(", ")}. Set it again: npx dunlin notifications set --merchant M --chat-url-file F. Then repeat this command. Until then, every process needs all keys.`,
        );
      context.print(`Re-encrypted ${result.changed}. The first key alone decrypts all ${result.boxes}.`);
      context.print(
        secretKeys.length === 1
          ? "Only one key is set. To change it, put a new key and a comma before it (see docs/guides/operating.md)."
          : "Page tokens signed with the old key are valid only while it is listed. Keep it for a day, then remove it and restart every process.",
      );
      return EXIT_CODES.ok;
    });
  },
};

export const secretKeyReset: Command = {
  name: "secret-key reset",
  usage: `[--yes]
  --yes  forget the lost key; without it the command changes nothing`,
  summary: "Replace a lost secret key, and list the credentials to set again",
  options: { yes: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin secret-key reset --yes"],
  async run(context, values) {
    const server = await context.server();
    try {
      if ((await countOtherSessions(server.address)) > server.sessions)
        throw new CommandFailure(
          "The service is running, so its secret key is not lost. To reset it anyway, stop the service.",
        );
      if (values.yes !== true)
        throw new CommandFailure(
          "Nothing was changed. After a reset, the stored webhook credentials and signing secrets can never be read again. To reset the key, repeat the command with --yes.",
        );
      const owner = openDatabase(roleAddresses(server.address, false).owner, 1, () => {});
      try {
        const [merchants, connections] = [await listMerchants(owner), await listConnections(owner)];
        const chats = await listChatUrls(owner);
        await forgetKeys(owner);
        context.print("The database will accept the secret key of the next start. After that start, run:");
        for (const { id, name, webhookAuth, webhookCredential, webhookSecret } of merchants) {
          if (webhookCredential)
            context.print(`  npx dunlin merchant set ${id} --${webhookAuth}-file FILE   (${name})`);
          if (webhookSecret)
            context.print(
              `  npx dunlin webhook secret remove ${id} && npx dunlin webhook secret rotate ${id}   (${name})`,
            );
        }
        for (const { merchantId, name } of connections)
          context.print(`  npx dunlin connect ${name} --merchant ${merchantId} --${name}-key-file FILE`);
        for (const { merchantId } of chats)
          context.print(`  npx dunlin notifications set --merchant ${merchantId} --chat-url-file FILE`);
      } finally {
        await owner.close();
      }
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};
