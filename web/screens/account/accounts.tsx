/** The screen Accounts. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Accounts() {
  return (
    <>
      <Bar title="Accounts" />
      <Empty title="Not built yet" />
    </>
  );
}
