import type { Address } from "../src/postgres/database.ts";

/** Returns the address as `DATABASE_URL` takes it. */
export const databaseUrlOf = (address: Address) =>
  "url" in address
    ? address.url
    : `postgres://${address.user}@/${address.database}?host=${encodeURIComponent(address.socketDir)}`;
