import { readFileSync } from "node:fs";

export const tls = { cert: readFileSync("cert.pem"), key: readFileSync("key.pem") };
export const port = Number(process.env.PORT);
export const host = "127.0.0.1";
/** Tells the driver that it can begin. */
export const listening = () => process.send("listening");
