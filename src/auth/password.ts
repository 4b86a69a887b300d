import { type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";

const PASSWORD_LENGTH_MIN = 12;
/** Longer ones only cost time. */
export const PASSWORD_LENGTH_MAX = 256;
/** Each takes 128 MB and a core for a third of a second at the usual cost. */
const CONCURRENT_HASH_COUNT = 2;
/** Who comes after so many waits for a quarter of a minute already. */
const MAX_WAITING_HASHES = 100;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

export interface Passwords {
  /** As text that `check` takes: `scrypt$N$r$p$salt$hash`. */
  hash(password: string): Promise<string>;
  /** Whether this is the password behind the text. With null it takes as long, and is not: nobody learns who exists. */
  check(password: string, stored: string | null): Promise<boolean>;
  /** Whether so many wait that one more should rather come again. */
  isBusy(): boolean;
}

/**
 * Passwords by scrypt (RFC 7914), at most two at once.
 *
 * @param logN  the base-2 logarithm of the cost: 17 in service, less in tests
 */
export function createPasswords(randomBytes: (size: number) => Buffer, logN = 17): Passwords {
  const turns = createLimiter(CONCURRENT_HASH_COUNT);
  const nobody = `scrypt$${2 ** logN}$${BLOCK_SIZE}$${PARALLEL}$${Buffer.alloc(SALT_BYTES).toString("base64")}$${Buffer.alloc(HASH_BYTES).toString("base64")}`;
  const derive = (password: string, salt: Buffer, cost: Required<Pick<ScryptOptions, "N" | "r" | "p">>) =>
    turns.take(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          const maxmem = 256 * cost.N * cost.r;
          // The same letters may be typed in several ways.
          scrypt(password.normalize("NFKC"), salt, HASH_BYTES, { ...cost, maxmem }, (error, key) =>
            error ? reject(error) : resolve(key),
          );
        }),
    );
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const key = await derive(password, salt, { N: 2 ** logN, r: BLOCK_SIZE, p: PARALLEL });
      return `scrypt$${2 ** logN}$${BLOCK_SIZE}$${PARALLEL}$${salt.toString("base64")}$${key.toString("base64")}`;
    },
    async check(password, stored) {
      const [, N, r, p, salt, key] = (stored ?? nobody).split("$") as [string, string, string, string, string, string];
      const cost = { N: Number(N), r: Number(r), p: Number(p) };
      const derived = await derive(password, Buffer.from(salt, "base64"), cost);
      return timingSafeEqual(derived, Buffer.from(key, "base64")) && stored !== null;
    },
    isBusy: () => turns.waiting() >= MAX_WAITING_HASHES,
  };
}

/** What is wrong with a new password, or null. Length is what counts; rules on letters only make people write them down. */
export function findPasswordProblem(password: string, email: string): string | null {
  if (password.length < PASSWORD_LENGTH_MIN) return `must have at least ${PASSWORD_LENGTH_MIN} characters`;
  if (password.length > PASSWORD_LENGTH_MAX) return `must have at most ${PASSWORD_LENGTH_MAX} characters`;
  if (password.toLowerCase().includes(email.split("@")[0]!.toLowerCase()) && password.length < 2 * PASSWORD_LENGTH_MIN)
    return "must not be built around your address";
  if (new Set(password).size < 5) return "must have at least 5 different characters";
  return null;
}

/** Runs at most `count` at once; who comes later waits. */
function createLimiter(count: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    waiting: () => waiting.length,
    async take<T>(work: () => Promise<T>): Promise<T> {
      if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve));
      else running++;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running--;
      }
    },
  };
}
