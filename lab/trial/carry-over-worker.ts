import { parentPort } from "node:worker_threads";
import { type MerchantRun, runSmallMerchant } from "./small-merchants.ts";

parentPort!.on("message", (run: MerchantRun) => {
  void runSmallMerchant(run).then((figures) => parentPort!.postMessage(figures));
});
