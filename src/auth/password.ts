import { type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";

const PASSWORD_LENGTH_MIN = 12;
/** Longer passwords only cost time. */
export const PASSWORD_LENGTH_MAX = 256;
/** Each hash needs 128 MB and a third of a second of CPU time. */
const CONCURRENT_HASH_COUNT = 2;
/** The last one waits for about a quarter of a minute. */
const MAX_WAITING_HASHES = 100;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

export interface Passwords {
  /** Returns `scrypt$N$r$p$salt$hash`, for `check`. */
  hash(password: string): Promise<string>;
  /** Whether the password matches. With null it takes as long and returns false, so that timing does not reveal who exists. */
  check(password: string, stored: string | null): Promise<boolean>;
  /** Whether too many hashes are waiting. */
  isBusy(): boolean;
}

/**
 * Hashes passwords with scrypt (RFC 7914), at most two at once.
 *
 * @param logN  base-2 logarithm of the cost; tests use a smaller one
 */
export function createPasswords(randomBytes: (size: number) => Buffer, logN = 17): Passwords {
  const limiter = createLimiter(CONCURRENT_HASH_COUNT);
  const unmatchable = `scrypt$${2 ** logN}$${BLOCK_SIZE}$${PARALLEL}$${Buffer.alloc(SALT_BYTES).toString("base64")}$${Buffer.alloc(HASH_BYTES).toString("base64")}`;
  const derive = (password: string, salt: Buffer, cost: Required<Pick<ScryptOptions, "N" | "r" | "p">>) =>
    limiter.run(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          const maxmem = 256 * cost.N * cost.r;
          // Keyboards produce different code points for the same letters.
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
      const [, N, r, p, salt, key] = (stored ?? unmatchable).split("$") as [
        string,
        string,
        string,
        string,
        string,
        string,
      ];
      const cost = { N: Number(N), r: Number(r), p: Number(p) };
      const derived = await derive(password, Buffer.from(salt, "base64"), cost);
      return timingSafeEqual(derived, Buffer.from(key, "base64")) && stored !== null;
    },
    isBusy: () => limiter.waiting() >= MAX_WAITING_HASHES,
  };
}

/** Returns why a new password is refused, or null. Length matters most, so there are few other rules. */
export function findPasswordProblem(password: string, email: string): string | null {
  if (password.length < PASSWORD_LENGTH_MIN) return `must have at least ${PASSWORD_LENGTH_MIN} characters`;
  if (password.length > PASSWORD_LENGTH_MAX) return `must have at most ${PASSWORD_LENGTH_MAX} characters`;
  if (password.toLowerCase().includes(email.split("@")[0]!.toLowerCase()) && password.length < 2 * PASSWORD_LENGTH_MIN)
    return `must not contain the name in your e-mail address, unless it has at least ${2 * PASSWORD_LENGTH_MIN} characters`;
  if (new Set(password).size < 5) return "must have at least 5 different characters";
  return null;
}

function createLimiter(count: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    waiting: () => waiting.length,
    async run<T>(work: () => Promise<T>): Promise<T> {
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
