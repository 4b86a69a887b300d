import { createHash } from "node:crypto";
import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { findPersonByEmail } from "../tables/people.ts";
import { countSignInAttempt, resetSignInAttempts } from "../tables/sign-in-counts.ts";
import { networkOf } from "./client-network.ts";
import { PASSWORD_LENGTH_MAX, type Passwords } from "./password.ts";

export const ATTEMPT_WINDOW_MS = 15 * 60_000;
/**
 * `pair` stops guessing for one person from one network, `place` for many people from one network, and `person` for one person from
 * many networks. Other people can lock out a person only by the last limit.
 */
const MAX_ATTEMPTS_BY_SCOPE = { pair: 10, place: 50, person: 100 };

export type SignIn = { person: Person } | { refused: "wrong" | "too_many" | "busy" };

/**
 * Checks an e-mail address and password. Counts each attempt, across processes, before it checks the password. If too many attempts
 * wait in this process, refuses one without counting it.
 *
 * @param address  of the client; its network is counted
 */
export async function signIn(
  db: Database,
  { email, password, address }: { email: string; password: string; address: string },
  passwords: Passwords,
  ports: Ports,
): Promise<SignIn> {
  if (passwords.isBusy()) return { refused: "busy" };
  const normalized = normalizeEmail(email);
  const network = networkOf(address);
  const realNow = ports.realNow();
  const from = new Date(realNow.getTime() - ATTEMPT_WINDOW_MS);
  const subjects = {
    pair: hashSubject("pair", normalized, network),
    place: hashSubject("place", network),
    person: hashSubject("person", normalized),
  };
  // `place` first, so that a refused client cannot create a row for each person that it makes up.
  for (const scope of ["place", "pair", "person"] as const)
    if ((await countSignInAttempt(db, subjects[scope], realNow, from)) > MAX_ATTEMPTS_BY_SCOPE[scope])
      return { refused: "too_many" };
  const person = await findPersonByEmail(db, normalized);
  const isCorrect = await passwords.check(password.slice(0, PASSWORD_LENGTH_MAX), person?.password ?? null);
  if (!person || !isCorrect) return { refused: "wrong" };
  await resetSignInAttempts(db, subjects.pair);
  return { person };
}

const EMAIL_LENGTH_MAX = 255;
// ASCII only: some other letters become ASCII letters in lower case, which would yield another person's address.
const EMAIL_CHARACTER = String.raw`[^\s@,;:<>()[\]\\"\x00-\x20\x7f-\u{10ffff}]`;
const EMAIL = new RegExp(`^${EMAIL_CHARACTER}{1,64}@${EMAIL_CHARACTER}+\\.${EMAIL_CHARACTER}{2,}$`, "u");
/** Whether a text is a single e-mail address. */
export const isEmail = (text: string) => text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text);

export const normalizeEmail = (email: string) => email.trim().toLowerCase();

/** Identifies a counter without storing the address that somebody typed. */
export const hashSubject = (...parts: string[]) => createHash("sha256").update(parts.join("\n")).digest("base64url");
