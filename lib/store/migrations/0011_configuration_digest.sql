-- SPDX-License-Identifier: MIT
--
-- What text a Configuration's generation is: "<generation>:<SHA-256 of the text, in hexadecimal>". The text is
-- elsewhere, and a write that died between the two, or somebody's hand, would otherwise pass for this generation.
-- NULL, or another generation than the row's: its writer did not say.
ALTER TABLE occ.configurations ADD COLUMN document_digest text COLLATE "C"
    CONSTRAINT configurations_document_digest CHECK (document_digest ~ '^[1-9][0-9]{0,18}:[0-9a-f]{64}$');
GRANT UPDATE (document_digest) ON occ.configurations TO occ_app;
