/** The screen Account. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Account() {
  return (
    <>
      <Bar title="Account" />
      <Empty title="Not built yet" />
    </>
  );
}
