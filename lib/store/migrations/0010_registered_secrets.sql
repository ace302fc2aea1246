-- SPDX-License-Identifier: MIT
--
-- A Secret whose value somebody else keeps: it was registered with its place, and is neither changed nor removed there
-- when the row is.
ALTER TABLE occ.secrets ADD COLUMN registered boolean NOT NULL DEFAULT false;
