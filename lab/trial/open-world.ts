import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import { world as balances } from "../worlds/balance-world.ts";
import { world as business } from "../worlds/business/world.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import { world as debits } from "../worlds/debit-world.ts";
import { world as issuers } from "../worlds/issuer-risk-world.ts";
import { world as crude, LAW_NAMES } from "../worlds/simple-law-world.ts";
import type { CreateWorld, World } from "../worlds/world.ts";
import { createCheckedWorld } from "./checked-world.ts";
import { importCompiled } from "./import-compiled.ts";

export const WORLDS: Readonly<Record<string, CreateWorld>> = {
  balances,
  hard: (options) => balances({ gone: 0.6, ...options }),
  issuers,
  debits,
  business,
  consumers,
};

/** How much does an engine lose where its assumptions are wrong? */
export const SIMPLE_WORLDS: Readonly<Record<string, CreateWorld>> = Object.fromEntries(
  LAW_NAMES.map((law) => [`crude:${law}`, (options) => crude({ law, ...options })]),
);

/** By name, or from a module that exports `world`, which is checked. Throws if there is none. */
export async function openWorld(nameOrPath: string, options?: Record<string, unknown>): Promise<World> {
  const own = WORLDS[nameOrPath] ?? SIMPLE_WORLDS[nameOrPath];
  if (own) return own(options);
  const path = resolve(nameOrPath);
  const module = (await importModule(path)) as { world?: CreateWorld };
  if (typeof module.world !== "function") throw new TypeError(`${path} exports no function named world`);
  return createCheckedWorld(await module.world(options));
}

async function importModule(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isOfScript = error instanceof SyntaxError || code === "ERR_MODULE_NOT_FOUND";
    const module = isOfScript && /\.[mc]?ts$/.test(path) ? await importCompiled(path) : null;
    if (module === null) throw error;
    return module;
  }
}

export const readPretrainedModel = (): PretrainedModel =>
  JSON.parse(readFileSync(join(import.meta.dirname, "../../src/engine/learned/prior.json"), "utf8")) as PretrainedModel;
