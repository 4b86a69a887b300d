import { resealAll } from "../recovery/reseal.ts";
import { type Command, EXIT, Failure, withDatabase } from "./command.ts";
import { growingLine } from "./growing-line.ts";

const NAMED_MAX = 10;

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
      const show = growingLine(context);
      let merchants = 0;
      const done = await resealAll(db, secretKeys, ports, () => show(`${++merchants} merchants`));
      const { length } = done.unreadable;
      const names = done.unreadable.slice(0, NAMED_MAX).map(({ id, name }) => `${name} (${id})`);
      if (length > NAMED_MAX) names.push(`${length - NAMED_MAX} more`);
      if (length > 0)
        throw new Failure(
          `no key opens the credential or signing secret of ${names.join(", ")}. Set it again: npx dunlin merchant set M --bearer T, or npx dunlin webhook secret rotate M. Then run this again; until then every process needs all keys.`,
        );
      context.print(`${done.changed} encrypted again; all ${done.boxes} open with the first key alone`);
      context.print(
        secretKeys.length === 1
          ? "There is one key. To change it, put a new one before it and a comma between them; docs/guides/operating.md has the steps."
          : "Page tokens of the old key hold while it is listed: leave it for a day. Then keep the first key alone, and restart every process.",
      );
      return EXIT.ok;
    });
  },
};
