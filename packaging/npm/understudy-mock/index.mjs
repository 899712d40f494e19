import understudy from "./index.js";

export const { startUnderstudy, UnderstudyError, explore, ExploreError } = understudy;
