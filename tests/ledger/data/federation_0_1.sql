BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE clients (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	token TEXT NOT NULL, 
	revoked BOOLEAN NOT NULL, 
	barred INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (token)
);
INSERT INTO "clients" VALUES(0,'client 0','f2fc67166479f12250221c7f2be987eca90d0ff6116dafd51868dc53feb733b8',0,5);
INSERT INTO "clients" VALUES(1,'client 1','8df8e1f8bfe8bc49911da91cd8051fd761998d5147c346c320c42e3aeb28e749',0,5);
INSERT INTO "clients" VALUES(2,'client 2','b1455822c6453ef11c67bcd96fcbce42553ab05017e74df78492532dfd86308b',0,5);
INSERT INTO "clients" VALUES(3,'client 3','a60e2c8fc63bf2687bb971fe625d161d02f43477e6f0e28c08533c7ba076faf1',1,0);
CREATE TABLE deliveries (
	round INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	db BLOB, 
	PRIMARY KEY (round, client), 
	FOREIGN KEY(round) REFERENCES rounds (number), 
	FOREIGN KEY(client) REFERENCES clients (id)
);
INSERT INTO "deliveries" VALUES(1,0,X'160B8167CD530040AA330882007204C0');
INSERT INTO "deliveries" VALUES(1,1,X'E08FFA9198B0A1BF9805D22F5711E9BF');
INSERT INTO "deliveries" VALUES(1,2,X'1E5CF01B7A4605C0ACE8735051E80540');
INSERT INTO "deliveries" VALUES(1,3,X'FA1F6FF19C00D2BFF20118BBA260E5BF');
INSERT INTO "deliveries" VALUES(2,0,X'96845C8BE5E1F0BF83EE1D1AE202D9BF');
INSERT INTO "deliveries" VALUES(2,2,X'786DC605D8BCD83F5F674899414CF93F');
INSERT INTO "deliveries" VALUES(2,3,X'3B5ED5DE1EF6FE3F234D119E7541D1BF');
INSERT INTO "deliveries" VALUES(3,1,X'0038AEE6700F70BF122F770EE978D23F');
CREATE TABLE entries (
	number BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "entries" VALUES(1,'{"V":"9d908ecfb6b256def8b49a7c504e6c889c4b0e41fe6ce3e01863dd7b61a20aa0","at":1000000.0,"b":"374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb","kind":"founded","name":"federation-a19a2d7b","number":1}','c8e7c6d4f64307867210f4605edd3c15de3493472384915c86918c477b2ab461');
INSERT INTO "entries" VALUES(2,'{"at":1000000.0,"body":{"answer_time":5.0,"arm_norm":1000.0,"attempts":3,"barred_rounds":1,"budget":150.0,"cost_limit":1000000000.0,"delta":0.1,"dim":2,"exploration":null,"identity":"federation-a19a2d7b","lag":16,"live_time":1000000.0,"mechanism":{"absorb":false,"beta":0.9,"iterative":true,"kind":"PaymentEfficient","order":"descending","payment_free":true},"name":"federation","noise":0.1,"reward_bound":10000.0,"ridge":1.0,"threshold":1.0,"upload_time":10.0},"kind":"settings","number":2,"settings":1}','40b5b20266a7edb152d8a81efd8f1ef783f78d87ca396e8ac16ff4d948be9b5e');
INSERT INTO "entries" VALUES(3,'{"at":1000000.0,"client":0,"kind":"enrolled","name":"client 0","number":3,"token":"0938c2d52641dbae2369eb9a7c1290c8036929a2ed2540551ae95b2cae140262"}','6e1be7a412eb5ecf2b19aecd1cb96fa301d0cf98c124fe5481eb4379e5a179ac');
INSERT INTO "entries" VALUES(4,'{"at":1000000.0,"client":1,"kind":"enrolled","name":"client 1","number":4,"token":"ce37bf93d2e903a1ca5c8334f2fb053ebacaebb45f582fd552e3f9bb308c892e"}','bd33eef05ae7263f28ebe0c571253ab484757c8475fafbe5bed61b2841fe3ae7');
INSERT INTO "entries" VALUES(5,'{"at":1000000.0,"client":2,"kind":"enrolled","name":"client 2","number":5,"token":"e48b8a96389bb4f2cb95a8a3d3ed59bcfb4df9dcb8488dd7438cd80fce1599f3"}','14088d6971912c565c86cebd6e769cc313d5982c39c18768a365699e6358673e');
INSERT INTO "entries" VALUES(6,'{"at":1000000.0,"client":3,"kind":"enrolled","name":"client 3","number":6,"token":"c8b73757453d04ebe08fe6e5f5503c17df857fee2028922a2f3c74693d63bcf6"}','bc57a1f8c176260933d9520b5031ed7d872f16077ee9413d102f434feca39fad');
INSERT INTO "entries" VALUES(7,'{"at":1000000.0,"client":0,"deadline":1000010.0,"epoch":0,"kind":"opened","number":7,"round":1,"settings":1}','76ec59849dea5f47c9df34e4897a0f2d523f689d0f418e64bee139705416bca9');
INSERT INTO "entries" VALUES(8,'{"at":1000000.0,"client":0,"cost":10.0,"epoch":0,"form":"factor","kind":"uploaded","number":8,"numbers":"2bdf0e8901c996addd86787499045e3091f6825da98f1fb6a5dbc965eab80498","round":1,"steps":1}','0ec89b269fe46aaeb67759f27b3200aa5efdfb90cee4eef31be04185b6557d96');
INSERT INTO "entries" VALUES(9,'{"at":1000000.0,"client":1,"cost":10.0,"epoch":0,"form":"triangle","kind":"uploaded","number":9,"numbers":"772ae9c9f88dba2d81405ae1af08e029dcad2d53c047ca1afad00868401ca745","round":1,"steps":2}','1fd17c1cb1f8dfd848bc9544e2f7ce73222198a0f6638029b9212c4e5a7b9ddb');
INSERT INTO "entries" VALUES(10,'{"at":1000000.0,"client":2,"cost":10.0,"epoch":0,"form":"triangle","kind":"uploaded","number":10,"numbers":"a6bcf1c98dacfef48db576f514b397f033bd4c14a09b567ba3bbb4e834e293a6","round":1,"steps":3}','39d62e4c99041b509bda6e603ed935c588b410be5774fd1423ed74a2181fba58');
INSERT INTO "entries" VALUES(11,'{"at":1000000.0,"client":3,"cost":10.0,"epoch":0,"form":"factor","kind":"uploaded","number":11,"numbers":"668e229d0c43d64bdb86f3242636f09969a3df45e929852f86a75cb8389ea7bb","round":1,"steps":1}','420b91409a039bac8a6245266b9adc37e695286eb18d6d64eda43c43fe58842b');
INSERT INTO "entries" VALUES(12,'{"at":1000000.0,"attempt":1,"data_only":false,"deadline":1000005.0,"failed":[],"kind":"decided","number":12,"offers":{"0":0.0,"1":0.0,"2":8.762435611092847,"3":0.0},"round":1}','634a6b6273ac2abb5ffad63487b2787fde6ccadd479878e3503566af2fb705a4');
INSERT INTO "entries" VALUES(13,'{"accepted":true,"at":1000000.0,"attempt":1,"client":0,"kind":"answered","number":13,"round":1}','e90799c8d3fadd82b604b68980d8c94bf83a7d8897c71a66895f9058e82c0c44');
INSERT INTO "entries" VALUES(14,'{"at":1000000.0,"client":0,"db":"2bdf0e8901c996addd86787499045e3091f6825da98f1fb6a5dbc965eab80498","kind":"delivered","number":14,"round":1}','efbd78a56b948cd5e71048e00cfca1cf8531ecd53f59bccee538117918db2cd8');
INSERT INTO "entries" VALUES(15,'{"accepted":true,"at":1000000.0,"attempt":1,"client":1,"kind":"answered","number":15,"round":1}','24d504f9b99e81b48cd7ded94346a446c09dee3861ac8f666b1c9d92b695279b');
INSERT INTO "entries" VALUES(16,'{"at":1000000.0,"client":1,"db":"073ef1bb41a94ad89029d90add41161f23d8fceeae5ea81c75789a9cf4a5d917","kind":"delivered","number":16,"round":1}','972594a0295733a4a54407bffa2ac7794066f2c64f01308c354e9f95ef31410c');
INSERT INTO "entries" VALUES(17,'{"accepted":true,"at":1000000.0,"attempt":1,"client":2,"kind":"answered","number":17,"round":1}','89ed8fe8399f6dc241b06f957b6a5ab7721f627ac9d1079c23e192eb2dc7ec62');
INSERT INTO "entries" VALUES(18,'{"at":1000000.0,"client":2,"db":"24c2cdfe4d8dad099e13c62eda3ac430edd58e3ceb331855a5a22242c24f3444","kind":"delivered","number":18,"round":1}','193a97a530c4aa5d92803198829597d2b9c0d74e900542a128df1d51cd26d34d');
INSERT INTO "entries" VALUES(19,'{"accepted":true,"at":1000000.0,"attempt":1,"client":3,"kind":"answered","number":19,"round":1}','2e4e22488efcbd636769f363075480a7f003152bdafc07d33ce646bca50df07f');
INSERT INTO "entries" VALUES(20,'{"at":1000000.0,"client":3,"db":"668e229d0c43d64bdb86f3242636f09969a3df45e929852f86a75cb8389ea7bb","kind":"delivered","number":20,"round":1}','c93978998daa6ce8251e79fff4c1fc68dbf5169e3daa6123bbba55de6fde6330');
INSERT INTO "entries" VALUES(21,'{"V":"fb0872afb52c1b6df842536a1e29c631671db9e5a29c5c255064fd929b1a16ee","at":1000000.0,"b":"e21ff26682a032c835cf3d6a0d6aca376765739a02fe6cde58fd1eee4cd23fae","communication":48.0,"epoch":1,"idle":0,"kind":"closed","number":21,"payments":{"0":0.0,"1":0.0,"2":8.762435611092847,"3":0.0},"ratio":1.0,"round":1}','302c8c776778dbbadc9f2ff6044b4856232fb8cf6ade265bb8fbde813b464ffb');
INSERT INTO "entries" VALUES(22,'{"at":1000040.0,"client":0,"deadline":1000050.0,"epoch":1,"kind":"opened","number":22,"round":2,"settings":1}','99be2b4ebaa879f6b5a75fb33e719eabfb1649d265fcc1864f7c4392786246b0');
INSERT INTO "entries" VALUES(23,'{"at":1000040.0,"client":0,"cost":20.0,"epoch":1,"form":"factor","kind":"uploaded","number":23,"numbers":"1a0e7f0433f090c70c31f61e2a3d52e13a12e7d6c16c213e7eeb4cc95f9a4919","round":2,"steps":1}','55c5df63a7ddada3c831750fbce2bb1bdc1ac23552726cd4e3952eb454db4a03');
INSERT INTO "entries" VALUES(24,'{"at":1000040.0,"client":1,"cost":20.0,"epoch":1,"form":"triangle","kind":"uploaded","number":24,"numbers":"78007323f80cf63d1f1f4d51c2f81023a7da7d1da0c9f275036b3f48121fd03a","round":2,"steps":2}','f2745b7192ad3723fed83a8c532d38f227be2dc3d73dea444fbe5c9d4ce922fe');
INSERT INTO "entries" VALUES(25,'{"at":1000040.0,"client":2,"cost":20.0,"epoch":1,"form":"triangle","kind":"uploaded","number":25,"numbers":"7470c74dd66d1d3c77dd9c5ad61c23ac2acf6a918bbda979fe04ddc52c9b2e52","round":2,"steps":3}','29de2a4e00fe99afed601b9e2c7f5acd68e707e7e9e44784a7bd9b9cbd1ace26');
INSERT INTO "entries" VALUES(26,'{"at":1000040.0,"client":3,"cost":20.0,"epoch":1,"form":"factor","kind":"uploaded","number":26,"numbers":"fa9e95233a20f3e9c8c1149fc768f52aee6af7a2ea57c64f9ac4b0a68bba1567","round":2,"steps":1}','b3300fecee9cb4312e5edfb33d66510375cee61044b0d15d9c059d17445fb075');
INSERT INTO "entries" VALUES(27,'{"at":1000040.0,"attempt":1,"data_only":false,"deadline":1000045.0,"failed":[],"kind":"decided","number":27,"offers":{"0":19.352208467313496,"2":19.382725620245058,"3":19.6333851900743},"round":2}','eba1ba06323616ff38a63bb1c269a86e05633255623e72904655d42a657141d7');
INSERT INTO "entries" VALUES(28,'{"accepted":true,"at":1000040.0,"attempt":1,"client":0,"kind":"answered","number":28,"round":2}','e98eb02b53f27b410048e8ac62fa19e2bc0143ff90717d38781f9a9956bac4bd');
INSERT INTO "entries" VALUES(29,'{"at":1000040.0,"client":0,"db":"1a0e7f0433f090c70c31f61e2a3d52e13a12e7d6c16c213e7eeb4cc95f9a4919","kind":"delivered","number":29,"round":2}','762736c7c20ddf3ff615a78e8bf02f00cb4fb0c255e9ca0f9bbabbd0577d1ba3');
INSERT INTO "entries" VALUES(30,'{"accepted":true,"at":1000040.0,"attempt":1,"client":2,"kind":"answered","number":30,"round":2}','d283eb10ede7b3b338f1a40afb59c6bb8ed006513de72e1d1bb3cd848b02f3d7');
INSERT INTO "entries" VALUES(31,'{"at":1000040.0,"client":2,"db":"1dc4fc5e82584d825a326db13a83a5494e9398120623461b86d68c483951cd6d","kind":"delivered","number":31,"round":2}','32755bf77ab6bae1b56ed9f5a7bb32cfdf7aca9ebf083a5116c2698ed8c12c0b');
INSERT INTO "entries" VALUES(32,'{"accepted":true,"at":1000040.0,"attempt":1,"client":3,"kind":"answered","number":32,"round":2}','e8de1967612567b119b47dd1e454a92d9230f129fba3fa5f67cffac8fd1ea603');
INSERT INTO "entries" VALUES(33,'{"at":1000040.0,"client":3,"db":"fa9e95233a20f3e9c8c1149fc768f52aee6af7a2ea57c64f9ac4b0a68bba1567","kind":"delivered","number":33,"round":2}','83b71d97c9d074fc9eb49e09d9231fe4eb9b38f306c56a818ed205a7d4445f1f');
INSERT INTO "entries" VALUES(34,'{"V":"fa7f891f83b2f033f1df1f54f3d4fa93fd23855f13363ac28013086c05da61c7","at":1000040.0,"b":"2ccd6782aaad6826fbe782791e83c81aa78cdb4e67c26f03ac041c5ede0d6087","communication":46.0,"epoch":2,"idle":0,"kind":"closed","number":34,"payments":{"0":19.352208467313496,"2":19.382725620245058,"3":19.6333851900743},"ratio":0.9276469835496766,"round":2}','2608b36d7d16ed9f7e90a76264c87f0c423f2b54aef8bc9869ddb5c57b680c2d');
INSERT INTO "entries" VALUES(35,'{"at":1000080.0,"client":0,"deadline":1000090.0,"epoch":2,"kind":"opened","number":35,"round":3,"settings":1}','0cf7b435f7a42747fc20b6483a79ae1914742dffc9bf8a0d96375352474fa334');
INSERT INTO "entries" VALUES(36,'{"at":1000080.0,"client":0,"cost":5.0,"epoch":2,"form":"factor","kind":"uploaded","number":36,"numbers":"1dd8568b777d87a1d3109a92da63da74baf93cc6d592b4711314b9edba830c4b","round":3,"steps":1}','4fe5358e1c7e27aec9b5562d931f68bc1049b7467f367ba9d1db594da99c09e2');
INSERT INTO "entries" VALUES(37,'{"at":1000080.0,"client":1,"cost":5.0,"epoch":2,"form":"triangle","kind":"uploaded","number":37,"numbers":"3302a6dac04a19d9b8fd0fd06d8f9ca78fd2ccf772b1f0c5409ba8f8efb7a0de","round":3,"steps":2}','131cd7de7f92395b1a034efbc4c7366301ae21dd4645fbe0f74c003d28300ba1');
INSERT INTO "entries" VALUES(38,'{"at":1000080.0,"client":2,"cost":5.0,"epoch":2,"form":"triangle","kind":"uploaded","number":38,"numbers":"7aed2376f401e0186dbbdc9a2a21c82a41b63e8be5dd6dedacc715376acf01ac","round":3,"steps":3}','f494262d60fa6fbf6e1468aab5764ca52c321707708ec1da0554691e7c21d22d');
INSERT INTO "entries" VALUES(39,'{"at":1000080.0,"client":3,"cost":5.0,"epoch":2,"form":"factor","kind":"uploaded","number":39,"numbers":"e07992d1de3509f45e8f2f705791bfe0db2c584606166b05b038f83315356793","round":3,"steps":1}','b09d5629bcf3bbb04f8a4f4f304e9f0cf8a38166d67d536af20df360ec05b82b');
INSERT INTO "entries" VALUES(40,'{"at":1000080.0,"attempt":1,"data_only":false,"deadline":1000085.0,"failed":[],"kind":"decided","number":40,"offers":{"1":4.134819297404576,"2":4.883921523059085},"round":3}','2b67349a6e8d834db27a5e19fc78abf766c65be63c4f26464dddca661fd6fb7c');
INSERT INTO "entries" VALUES(41,'{"accepted":true,"at":1000080.0,"attempt":1,"client":1,"kind":"answered","number":41,"round":3}','02d64252c6255a64f04e6e30d677437f14bddd99df558a894ea90c181da7ac8f');
INSERT INTO "entries" VALUES(42,'{"at":1000080.0,"client":1,"db":"dd2d0a025367f666b12e9f0de601f85dcfc031bce4075dc557e691c556f8922e","kind":"delivered","number":42,"round":3}','2d9a650e9101ad4026380d1be4db93e6d8cba17d5576e336810115ce42003535');
INSERT INTO "entries" VALUES(43,'{"accepted":false,"at":1000080.0,"attempt":1,"client":2,"kind":"answered","number":43,"round":3}','50b554451baab4a73bd0c963dc4ad1e037e41548eeaccbb646fc1723b9de3d28');
INSERT INTO "entries" VALUES(44,'{"at":1000080.0,"attempt":2,"data_only":false,"deadline":1000085.0,"failed":[2],"kind":"decided","number":44,"offers":{"1":5.0},"round":3}','12607fdc0c314f9dfebfcf4f44184e242e832e42bf524373d267774fd65c6caa');
INSERT INTO "entries" VALUES(45,'{"V":"79c896e9e8c291d31719a18ddd081c9fc59d7c0dc4a81183b0e817aaab9e794a","at":1000080.0,"b":"04b8b9477765f9d112b032bd5c1bd0052ff7c6acd596376feb3bc6ea30475ff9","communication":42.0,"epoch":3,"idle":0,"kind":"closed","number":45,"payments":{"1":5.0},"ratio":0.9240829298205632,"round":3}','58e0c0fc00803d1a809bd6f9110d2a767df95e224ecd05e46bd45057863a7396');
INSERT INTO "entries" VALUES(46,'{"at":1000120.0,"client":0,"deadline":1000130.0,"epoch":3,"kind":"opened","number":46,"round":4,"settings":1}','9150978833b2045a50ba9b2c5f3d500aacc4d759fa3a89ae0b9a0a58adb1f3f5');
INSERT INTO "entries" VALUES(47,'{"at":1000120.0,"client":0,"cost":10.0,"epoch":3,"form":"factor","kind":"uploaded","number":47,"numbers":"93c4d3dc713d7a30533fd70099c7f058505f1261d80438b16bec0acdceb43b33","round":4,"steps":1}','20b4895a39481454658525d71c31726f988cec1751c17c8f16dad5197d8f0205');
INSERT INTO "entries" VALUES(48,'{"at":1000120.0,"client":1,"cost":10.0,"epoch":3,"form":"triangle","kind":"uploaded","number":48,"numbers":"0d84bbfd5d6906779a61e758d25518d194352ae4476c7fd928fab0ae62f1414b","round":4,"steps":2}','fd81272a237500e8d4c7ce7cdbaede28ad86e533b6aa0d4b85992d1f2dc19242');
INSERT INTO "entries" VALUES(49,'{"at":1000120.0,"client":2,"cost":10.0,"epoch":3,"form":"triangle","kind":"uploaded","number":49,"numbers":"25b6e6125cd9862396488c13d574cebb5fcdd8cd36ddec63cd7378cf9b0f2094","round":4,"steps":3}','2fd011574f7c1a0b3eefc5102afc5b3976fa5e9b16b49ebe359bff294e7de7c1');
INSERT INTO "entries" VALUES(50,'{"at":1000120.0,"client":3,"cost":10.0,"epoch":3,"form":"factor","kind":"uploaded","number":50,"numbers":"20f192367b12c5be36675e9d9ff61eefb552dde2381a95d0bef048a4fbcf4d89","round":4,"steps":1}','8d10b2dacb13a338b653828b7aa95baa0a3b4a32ed0fde43851a07f30e4323a8');
INSERT INTO "entries" VALUES(51,'{"at":1000120.0,"attempt":1,"data_only":false,"deadline":1000125.0,"failed":[],"kind":"decided","number":51,"offers":{"1":9.840147961927993,"2":9.818286751736602},"round":4}','c4269fa1f1b6025769171f08305c77b5d75e36633fd0a18daaf7f06fe48997c0');
INSERT INTO "entries" VALUES(52,'{"at":1000130.0,"client":1,"kind":"barred","number":52,"round":4,"until":5}','ecda85fe05ce1eb42c94a9972d6616582aae039bda42a2a89475dc47f58aff2d');
INSERT INTO "entries" VALUES(53,'{"at":1000130.0,"client":2,"kind":"barred","number":53,"round":4,"until":5}','5a13134f448a5d81fb6d92722569b590aa8655da67890c51500c9c66b748377f');
INSERT INTO "entries" VALUES(54,'{"at":1000130.0,"attempt":2,"data_only":false,"deadline":1000135.0,"failed":[1,2],"kind":"decided","number":54,"offers":{"0":10.0},"round":4}','06416c1b516f4400c7deb523bca5cfef432720d316cb03b1f61d6496e049e9b4');
INSERT INTO "entries" VALUES(55,'{"at":1000140.0,"client":0,"kind":"barred","number":55,"round":4,"until":5}','ff85e3cd0b060d789df348f705d3977ca707d713275b94ef6eaef9c442c64691');
INSERT INTO "entries" VALUES(56,'{"at":1000140.0,"attempt":3,"data_only":false,"deadline":1000145.0,"failed":[0],"kind":"decided","number":56,"offers":{},"round":4}','5a7745ba2562212e67ebecab30ff17a26d9d7fd3a7cdebcf881b3fa3ee3ad239');
INSERT INTO "entries" VALUES(57,'{"V":"79c896e9e8c291d31719a18ddd081c9fc59d7c0dc4a81183b0e817aaab9e794a","at":1000140.0,"b":"04b8b9477765f9d112b032bd5c1bd0052ff7c6acd596376feb3bc6ea30475ff9","communication":40.0,"epoch":4,"idle":0,"kind":"closed","number":57,"payments":{},"ratio":0.960800800252418,"round":4}','19e5ec85b3d2969997784dd3e4df45f820172bb3b775fdc9e0575638842813ac');
INSERT INTO "entries" VALUES(58,'{"at":1000160.0,"client":0,"deadline":1000170.0,"epoch":4,"kind":"opened","number":58,"round":5,"settings":1}','f53b67e9c8e029813be49d314996762282a3ae8f1fb7bf21b7f692dfdc372792');
INSERT INTO "entries" VALUES(59,'{"at":1000160.0,"client":0,"cost":1000.0,"epoch":4,"form":"factor","kind":"uploaded","number":59,"numbers":"59b50e9ae21e6e9b8e1ba0f51fe0ab77c9c3deacb42bfb8ed2d12047bcb5521c","round":5,"steps":1}','111274dbb5365d1e4d34522dc21a642e03524fa71a005e600a96aa0d257b8f0a');
INSERT INTO "entries" VALUES(60,'{"at":1000160.0,"client":1,"cost":1000.0,"epoch":4,"form":"triangle","kind":"uploaded","number":60,"numbers":"cbecd74dbe0b2a5360aaea905d497c3b7adac1be821970338334c8887978894f","round":5,"steps":2}','b47dd1a14b0af642b64f7f8d09e75550059ae31efd633aaf0770af6d3f906f14');
INSERT INTO "entries" VALUES(61,'{"at":1000160.0,"client":2,"cost":1000.0,"epoch":4,"form":"triangle","kind":"uploaded","number":61,"numbers":"7469d2aea60ccebe3ef74c17c0e3c9f9f14903ad25e10c2e129a5d2ab54717be","round":5,"steps":3}','cd195d8403ede11f6009d7fd5dbc81845aeb9115c706f4cd5bf5557abeaa9cd6');
INSERT INTO "entries" VALUES(62,'{"at":1000160.0,"client":3,"cost":1000.0,"epoch":4,"form":"factor","kind":"uploaded","number":62,"numbers":"c4b7ae69432d5e8a07c0d12b3331ea91235541325edf7c63682153fc5d8154cc","round":5,"steps":1}','15d0b7a44dd50be53bc4d75a2868a2c9524b53b700123b68304c246919c29da2');
INSERT INTO "entries" VALUES(63,'{"at":1000160.0,"attempt":1,"data_only":true,"deadline":1000165.0,"failed":[],"kind":"decided","number":63,"offers":{},"round":5}','2fc509eaf36545a17296bc52014abe2592ea36275d61462cb61466f63b8b8b61');
INSERT INTO "entries" VALUES(64,'{"V":"79c896e9e8c291d31719a18ddd081c9fc59d7c0dc4a81183b0e817aaab9e794a","at":1000160.0,"b":"04b8b9477765f9d112b032bd5c1bd0052ff7c6acd596376feb3bc6ea30475ff9","communication":40.0,"epoch":5,"idle":0,"kind":"closed","number":64,"payments":{},"ratio":0.7300865009857702,"round":5}','28d1740b2fb87c585d493bc2c2f378fc337724658e250e36dd9e75705fa902fa');
INSERT INTO "entries" VALUES(65,'{"at":1000200.0,"client":3,"kind":"revoked","number":65}','bcc0336e209e931604fb30aaca0dc7acc90ffcc1c47d6a4a86bbfa6f5fedf92a');
INSERT INTO "entries" VALUES(66,'{"at":1000200.0,"client":0,"deadline":1000210.0,"epoch":5,"kind":"opened","number":66,"round":6,"settings":1}','f1329662cbb169d8408b6de8bc114d059e463306147e242e3d2040a38cb5df05');
INSERT INTO "entries" VALUES(67,'{"at":1000200.0,"client":0,"cost":1.0,"epoch":5,"form":"factor","kind":"uploaded","number":67,"numbers":"9a981e253c2a6a641e22f1f647f4af16b5565c7f4ecdee7ed4eb9a95870fe43d","round":6,"steps":1}','a10a34e3eaa6afb3b442fca39b8660d48ed28b7b80de82f446daf2fa21934cd6');
INSERT INTO "entries" VALUES(68,'{"at":1000200.0,"client":1,"cost":1.0,"epoch":5,"form":"triangle","kind":"uploaded","number":68,"numbers":"02cea8fdbca5db67ad2d8b1b8072e00547b192135375e6609ed1162b31b2e51c","round":6,"steps":2}','fbd7c9a143f666464c99d19e1ef2fc31a2a54c3bb4fce894c2a93614ecada16f');
CREATE TABLE epochs (
	number INTEGER NOT NULL, 
	round INTEGER NOT NULL, 
	"V" BLOB, 
	b BLOB, 
	PRIMARY KEY (number)
);
INSERT INTO "epochs" VALUES(0,0,X'000000000000000000000000000000000000000000000000',X'00000000000000000000000000000000');
INSERT INTO "epochs" VALUES(1,1,X'25A9C6EA17022340F34C4F58B49D1EC0B850424A28913240',X'1D7D94D30AE6EDBFC1999D585B4CF4BF');
INSERT INTO "epochs" VALUES(2,2,X'8A33B14FE5622D4093481287433320C0D479D9BCBBBA3540',X'D4D980ACA741D53F2F0584B5BE44D6BF');
INSERT INTO "epochs" VALUES(3,3,X'546733EF0142304059CF0DC13F511DC0A614F5D2BD263640',X'F420E6E86901D53FE8B06638AD5EAEBF');
INSERT INTO "epochs" VALUES(4,4,X'546733EF0142304059CF0DC13F511DC0A614F5D2BD263640',X'F420E6E86901D53FE8B06638AD5EAEBF');
INSERT INTO "epochs" VALUES(5,5,X'546733EF0142304059CF0DC13F511DC0A614F5D2BD263640',X'F420E6E86901D53FE8B06638AD5EAEBF');
CREATE TABLE federation (
	id INTEGER NOT NULL CHECK (id = 1), 
	name TEXT NOT NULL, 
	settings INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	round INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	spent DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "federation" VALUES(1,'federation-a19a2d7b',1,20,6,5,72.1307548887257);
CREATE TABLE offers (
	round INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	payment DOUBLE NOT NULL, 
	accepted BOOLEAN, 
	failed BOOLEAN NOT NULL, 
	PRIMARY KEY (round, client), 
	FOREIGN KEY(round) REFERENCES rounds (number), 
	FOREIGN KEY(client) REFERENCES clients (id)
);
INSERT INTO "offers" VALUES(1,0,1,0.0,1,0);
INSERT INTO "offers" VALUES(1,1,1,0.0,1,0);
INSERT INTO "offers" VALUES(1,2,1,8.7624356110928474095e+00,1,0);
INSERT INTO "offers" VALUES(1,3,1,0.0,1,0);
INSERT INTO "offers" VALUES(2,0,1,1.93522084673134955323e+01,1,0);
INSERT INTO "offers" VALUES(2,2,1,1.93827256202450577404e+01,1,0);
INSERT INTO "offers" VALUES(2,3,1,19.6333851900743,1,0);
INSERT INTO "offers" VALUES(3,1,2,5.0,1,0);
INSERT INTO "offers" VALUES(3,2,1,4.8839215230590848904e+00,0,1);
INSERT INTO "offers" VALUES(4,1,1,9.84014796192799323648e+00,NULL,1);
INSERT INTO "offers" VALUES(4,2,1,9.81828675173660236907e+00,NULL,1);
INSERT INTO "offers" VALUES(4,0,2,10.0,NULL,1);
CREATE TABLE payments (
	federation TEXT NOT NULL, 
	round INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	amount DOUBLE NOT NULL, 
	PRIMARY KEY (federation, round, client), 
	FOREIGN KEY(round) REFERENCES rounds (number), 
	FOREIGN KEY(client) REFERENCES clients (id)
);
INSERT INTO "payments" VALUES('federation-a19a2d7b',1,0,1,0.0);
INSERT INTO "payments" VALUES('federation-a19a2d7b',1,1,1,0.0);
INSERT INTO "payments" VALUES('federation-a19a2d7b',1,2,1,8.7624356110928474095e+00);
INSERT INTO "payments" VALUES('federation-a19a2d7b',1,3,1,0.0);
INSERT INTO "payments" VALUES('federation-a19a2d7b',2,0,2,1.93522084673134955323e+01);
INSERT INTO "payments" VALUES('federation-a19a2d7b',2,2,2,1.93827256202450577404e+01);
INSERT INTO "payments" VALUES('federation-a19a2d7b',2,3,2,19.6333851900743);
INSERT INTO "payments" VALUES('federation-a19a2d7b',3,1,3,5.0);
CREATE TABLE presence (
	client INTEGER NOT NULL, 
	heard DOUBLE, 
	PRIMARY KEY (client), 
	FOREIGN KEY(client) REFERENCES clients (id)
);
INSERT INTO "presence" VALUES(0,1000200.0);
INSERT INTO "presence" VALUES(1,1000200.0);
INSERT INTO "presence" VALUES(2,1000160.0);
INSERT INTO "presence" VALUES(3,1000160.0);
CREATE TABLE rounds (
	number INTEGER NOT NULL, 
	stage TEXT NOT NULL, 
	settings INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	"trigger" INTEGER NOT NULL, 
	opened DOUBLE NOT NULL, 
	deadline DOUBLE, 
	attempt INTEGER NOT NULL, 
	ended DOUBLE, 
	PRIMARY KEY (number), 
	FOREIGN KEY(settings) REFERENCES settings (number), 
	FOREIGN KEY("trigger") REFERENCES clients (id)
);
INSERT INTO "rounds" VALUES(1,'closed',1,0,0,1000000.0,NULL,1,1000000.0);
INSERT INTO "rounds" VALUES(2,'closed',1,1,0,1000040.0,NULL,1,1000040.0);
INSERT INTO "rounds" VALUES(3,'closed',1,2,0,1000080.0,NULL,2,1000080.0);
INSERT INTO "rounds" VALUES(4,'closed',1,3,0,1000120.0,NULL,3,1000140.0);
INSERT INTO "rounds" VALUES(5,'closed',1,4,0,1000160.0,NULL,1,1000160.0);
INSERT INTO "rounds" VALUES(6,'open',1,5,0,1000200.0,1000210.0,0,NULL);
CREATE TABLE settings (
	number INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "settings" VALUES(1,'{"answer_time":5.0,"arm_norm":1000.0,"attempts":3,"barred_rounds":1,"budget":150.0,"cost_limit":1000000000.0,"delta":0.1,"dim":2,"exploration":null,"identity":"federation-a19a2d7b","lag":16,"live_time":1000000.0,"mechanism":{"absorb":false,"beta":0.9,"iterative":true,"kind":"PaymentEfficient","order":"descending","payment_free":true},"name":"federation","noise":0.1,"reward_bound":10000.0,"ridge":1.0,"threshold":1.0,"upload_time":10.0}');
CREATE TABLE uploads (
	round INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	steps BIGINT NOT NULL, 
	cost DOUBLE NOT NULL, 
	form TEXT NOT NULL, 
	numbers BLOB, 
	PRIMARY KEY (round, client), 
	FOREIGN KEY(round) REFERENCES rounds (number), 
	FOREIGN KEY(client) REFERENCES clients (id)
);
INSERT INTO "uploads" VALUES(1,0,0,1,10.0,'factor',X'160B8167CD530040AA330882007204C0');
INSERT INTO "uploads" VALUES(1,1,0,2,10.0,'triangle',X'8DE861F4F84CD83FEB87FE58C4E4C1BFC687CDCD259BD73F');
INSERT INTO "uploads" VALUES(1,2,0,3,10.0,'triangle',X'F15D510509851340ABBA1A3CC8E303C04B9E5A09E1702640');
INSERT INTO "uploads" VALUES(1,3,0,1,10.0,'factor',X'FA1F6FF19C00D2BFF20118BBA260E5BF');
INSERT INTO "uploads" VALUES(2,0,1,1,20.0,'factor',X'96845C8BE5E1F0BF83EE1D1AE202D9BF');
INSERT INTO "uploads" VALUES(2,1,1,2,20.0,'triangle',X'87B0C7C0A664F23FB09CDBB1F19AD3BFCB2BE53FC4C9B83F');
INSERT INTO "uploads" VALUES(2,2,1,3,20.0,'triangle',X'120FBB0AB431D53F6E985192008DD5BFDB010D4EF27E0740');
INSERT INTO "uploads" VALUES(2,3,1,1,20.0,'factor',X'3B5ED5DE1EF6FE3F234D119E7541D1BF');
INSERT INTO "uploads" VALUES(3,0,2,1,5.0,'factor',X'8C9EA648EE2CCFBF8F0A9DFC7909F03F');
INSERT INTO "uploads" VALUES(3,1,2,2,5.0,'triangle',X'ECD8AC75F408F93F670EB6683AAAE83F76B4E6868500DB3F');
INSERT INTO "uploads" VALUES(3,2,2,3,5.0,'triangle',X'A715DBFF07DB214017BB2587EE9CF3BF083FED81081B1140');
INSERT INTO "uploads" VALUES(3,3,2,1,5.0,'factor',X'3FAD108E49B1D13F18957E1BDD6AE63F');
INSERT INTO "uploads" VALUES(4,0,3,1,10.0,'factor',X'58E41EEB1177DCBF4F4D8754F538F1BF');
INSERT INTO "uploads" VALUES(4,1,3,2,10.0,'triangle',X'5164EFC4499FFF3F520A121E6EC9F03FEE3E342FFFF6E13F');
INSERT INTO "uploads" VALUES(4,2,3,3,10.0,'triangle',X'C769FB6A7DF0DA3F3B7CF2AD15DFE73F1FEF38187E750340');
INSERT INTO "uploads" VALUES(4,3,3,1,10.0,'factor',X'A937C385837FCBBFA4452C93C40CE9BF');
INSERT INTO "uploads" VALUES(5,0,4,1,1000.0,'factor',X'79215248EA54CD3FC944EDD77EF303C0');
INSERT INTO "uploads" VALUES(5,1,4,2,1000.0,'triangle',X'8225A028084C09405EFE72D7FE88CE3FCF4E9F93F162CF3F');
INSERT INTO "uploads" VALUES(5,2,4,3,1000.0,'triangle',X'4392933E874816404AEF50564D36FF3F1654FC88BFF90540');
INSERT INTO "uploads" VALUES(5,3,4,1,1000.0,'factor',X'76DF2153984301C0F6F35383E2DFDFBF');
INSERT INTO "uploads" VALUES(6,0,5,1,1.0,'factor',X'45AE79FC47FED43F741596D7B27EE3BF');
INSERT INTO "uploads" VALUES(6,1,5,2,1.0,'triangle',X'1FD26967233F054042D89012CE2102C0F639C50139250440');
CREATE INDEX payments_of_client ON payments (client, epoch);
CREATE TRIGGER entries_UPDATE BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries: rows are only ever added'); END;
CREATE TRIGGER entries_DELETE BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries: rows are only ever added'); END;
CREATE TRIGGER entries_REPLACE BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'entries: rows are only ever added'); END;
CREATE TRIGGER payments_UPDATE BEFORE UPDATE ON payments
BEGIN SELECT RAISE(ABORT, 'payments: rows are only ever added'); END;
CREATE TRIGGER payments_DELETE BEFORE DELETE ON payments
BEGIN SELECT RAISE(ABORT, 'payments: rows are only ever added'); END;
CREATE TRIGGER payments_REPLACE BEFORE INSERT ON payments
WHEN EXISTS (SELECT 1 FROM payments WHERE federation = NEW.federation AND round = NEW.round AND client = NEW.client)
BEGIN SELECT RAISE(ABORT, 'payments: rows are only ever added'); END;
COMMIT;
